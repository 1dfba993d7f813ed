#include "graph/passes/views.h"

#include <set>

#include "graph/passes/pieces.h"

namespace lathe::graph {
namespace {

// Where the result of the node lies in its input; none where it is no such copy.
std::optional<std::int64_t> begin_in_input(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.size() != 1) return std::nullopt;
  const Value &made = graph.value(node.outputs[0]), &read = graph.value(node.inputs[0]);
  if (made.view_of || made.dtype != read.dtype) return std::nullopt;
  const auto pieces = pieces_of(node.expression);
  if (!pieces || pieces->size() != 1 || pieces->front().count != made.elements())
    return std::nullopt;
  return pieces->front().from;
}

// Those that read what is constant now have it packed beforehand.
void read_constants(Graph& graph, const std::set<int>& constants) {
  for (Node& node : graph.nodes) {
    const std::vector<int> tensors = node.expression.inputs();
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (constants.contains(node.inputs[i]))
        node.expression.tensors[place(tensors[i])].constant = true;
  }
}

}  // namespace

Status views(Graph& graph) {
  std::vector<Node> kept;
  std::set<int> constants;
  for (Node& node : graph.nodes) {
    const auto begin = begin_in_input(graph, node);
    if (!begin) {
      kept.push_back(std::move(node));
      continue;
    }
    const int id = node.outputs[0];
    Value& made = graph.values[place(id)];
    if (const auto& known = graph.value(node.inputs[0]).constant) {
      const auto size = static_cast<std::size_t>(size_of(made.dtype));
      made.constant = Data{known->owner,
                           known->bytes.subspan(static_cast<std::size_t>(*begin) * size,
                                                static_cast<std::size_t>(made.elements()) * size)};
      constants.insert(id);
    } else {
      made.view_of = node.inputs[0];
      made.begin = *begin;
    }
  }
  graph.nodes = std::move(kept);
  // What was a view of such a copy is constant, too.
  for (std::size_t v = 0; v < graph.values.size(); ++v)
    if (Value& value = graph.values[v]; value.view_of) {
      const Range range = graph.range_of(static_cast<int>(v));
      if (!constants.contains(range.storage)) continue;
      const auto size = static_cast<std::size_t>(size_of(value.dtype));
      const Data& known = *graph.value(range.storage).constant;
      value.constant =
          Data{known.owner, known.bytes.subspan(static_cast<std::size_t>(range.begin) * size,
                                                static_cast<std::size_t>(value.bytes()))};
      value.view_of.reset(), value.begin = 0;
      constants.insert(static_cast<int>(v));
    }
  read_constants(graph, constants);
  drop_unused(graph);
  return {};
}

}  // namespace lathe::graph
