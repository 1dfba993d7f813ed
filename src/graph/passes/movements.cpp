#include "graph/passes/movements.h"

#include <algorithm>

#include "graph/passes/aligned.h"
#include "graph/passes/concat.h"
#include "graph/passes/fuse.h"
#include "graph/passes/pieces.h"

namespace lathe::graph {
namespace {

std::int64_t stride_of(const Shape& shape, std::size_t dimension) {
  std::int64_t stride = 1;
  for (std::size_t d = dimension + 1; d < shape.size(); ++d) stride *= shape[d];
  return stride;
}

Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

// True if rows of the output, along the last dimension that has several elements, are parts of rows
// of the input, in order, or one element again and again, and places in both are affine.
bool keeps_rows(const te::Workload& movement) {
  if (movement.stages.size() != 1) return false;
  const te::Stage& stage = movement.stages[0];
  const auto* read = std::get_if<ir::Read>(&stage.body->value);
  if (read == nullptr || read->pad) return false;
  std::size_t last = stage.iters.size();
  while (last > 0 && stage.iters[last - 1].extent == 1) --last;
  if (last == 0) return false;
  const Shape& shape = movement.tensors[place(read->tensor)].shape;
  std::int64_t step = 0;
  for (std::size_t r = 0; r < read->index.size(); ++r)
    step += read->index[r].coef_of(static_cast<int>(last - 1)) * stride_of(shape, r);
  return step == 0 || step == 1;
}

// True if a sum of products of two tensors reads the tensor by iterators alone, as a product of
// matrices does: it takes its rows wherever they lie.
bool takes_rows(const te::Workload& expression, int tensor) {
  for (const te::Stage& stage : expression.stages) {
    if (std::ranges::count(ir::tensors_of(stage.body), tensor) == 0) continue;
    const auto* product = std::get_if<ir::Binary>(&stage.body->value);
    if (stage.reduce != ir::ReduceOp::kSum || product == nullptr ||
        product->op != ir::BinaryOp::kMul)
      return false;
    for (const ir::Expr& factor : {product->a, product->b}) {
      const auto* read = std::get_if<ir::Read>(&factor->value);
      if (read == nullptr || read->pad) return false;
      for (const ir::Affine& row : read->index)
        if (row.offset != 0 || row.terms.size() > 1 ||
            (row.terms.size() == 1 && row.terms[0].coef != 1))
          return false;
    }
  }
  return true;
}

// Whether what the node moves can be read where it came from.
bool reads_through(const Graph& graph, const Node& reader, const Node& node) {
  if (reader.outputs.size() != 1) return false;
  // What is joined in pieces has no program (concat.h).
  if (is_movement(reader.expression)) return !pieces_of(reader.expression);
  if (!keeps_rows(node.expression)) return false;
  if (is_pointwise(reader.expression)) return true;
  // In equal shapes: an axis of the sum that becomes two costs more than the copy does.
  const std::vector<int> tensors = reader.expression.inputs();
  const int storage = graph.storage_of(node.outputs[0]);
  const te::Tensor& made = node.expression.tensors[place(node.expression.outputs()[0])];
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (graph.storage_of(reader.inputs[i]) == storage &&
        (!takes_rows(reader.expression, tensors[i]) ||
         without_ones(reader.expression.tensors[place(tensors[i])].shape) !=
             without_ones(made.shape)))
      return false;
  return true;
}

// The nodes that read what the node makes; none where something needs it otherwise than as a whole,
// or as it lies.
std::vector<int> readers_of(const Graph& graph, int n, const std::vector<bool>& gone) {
  const Node& node = graph.nodes[place(n)];
  const Range made = graph.range_of(node.outputs[0]);
  const auto touches = [&](int id) { return overlap(graph.range_of(id), made); };
  if (std::ranges::any_of(graph.outputs, touches)) return {};
  std::vector<int> readers;
  for (int r = n + 1; r < static_cast<int>(graph.nodes.size()); ++r) {
    const Node& reader = graph.nodes[place(r)];
    if (gone[place(r)] || std::ranges::none_of(reader.inputs, touches)) continue;
    const bool reads_whole = std::ranges::all_of(
        reader.inputs, [&](int id) { return !touches(id) || graph.range_of(id) == made; });
    if (!reads_whole || !reads_through(graph, reader, node)) return {};
    readers.push_back(r);
  }
  return readers;
}

}  // namespace

Status movements(Graph& graph) {
  std::vector<bool> gone(graph.nodes.size(), false);
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[place(n)];
    if (node.outputs.size() != 1 || !is_movement(node.expression)) continue;
    if (has_no_program(graph, node)) continue;
    const std::vector<int> readers = readers_of(graph, n, gone);
    for (const int r : readers) graph.nodes[place(r)] = LATHE_TRY(merged(graph, {n, r}));
    gone[place(n)] = !readers.empty();
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (!gone[n]) kept.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(kept);
  drop_unused(graph);
  return {};
}

}  // namespace lathe::graph
