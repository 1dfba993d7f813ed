#include "tuner/space/rules/strips/strip_cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/expr/effort.h"
#include "tuner/space/costs.h"
#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

// Of a vector: an operation, of which two start in a cycle; a function such as exp; a load or
// store.
constexpr double kOperation = 0.5, kFunction = 12, kAccess = 0.5;
// Of the loops around a tile.
constexpr double kTileCycles = 4;

// Of one vector of one term.
double cycles_of_body(const ir::Expr& body, bool reduces) {
  double operations = 0, accesses = 0;
  ir::for_each_node(body, [&](const ir::Expr& e) {
    if (const auto* unary = std::get_if<ir::Unary>(&e->value))
      operations += ir::effort_of(unary->op) == ir::Effort::kShort ? kOperation : kFunction;
    if (std::holds_alternative<ir::Binary>(e->value)) operations += kOperation;
    if (std::holds_alternative<ir::Read>(e->value) || std::holds_alternative<ir::Lookup>(e->value))
      accesses += kAccess;
  });
  if (reduces) return std::max({operations, accesses, kOperation});
  return operations + accesses + kAccess;
}

// Of bytes that come from, or go to, where so many are kept.
double cycles_of_bytes(double bytes, double kept, int threads) {
  if (kept <= kL1) return 0;
  if (kept <= kL2) return bytes / kL2Rate;
  if (kept <= kL3) return bytes / (kL3Rate * share_of_l3(threads));
  return bytes / (kMemoryRate * share_of_memory(threads));
}

const te::Tensor& tensor_of(const te::Workload& view, int tensor) {
  return view.tensors[static_cast<std::size_t>(tensor)];
}

}  // namespace

// What is written is read before, too. Code of a stage waits for much of that.
double cycles_apart(const te::Workload& view, int lanes, int threads) {
  double cycles = 0;
  for (const te::Stage& stage : view.stages) {
    if (tensor_of(view, stage.tensor).constant) continue;
    const bool reduces = stage.reduce != ir::ReduceOp::kNone;
    double vectors = 1;
    for (const te::Iterator& it : stage.iters) vectors *= static_cast<double>(it.extent);
    vectors /= lanes;
    double work = vectors * cycles_of_body(stage.body, reduces);
    if (reduces) work += 2 * kAccess * vectors / te::terms_of(stage);
    const double written = bytes_of(tensor_of(view, stage.tensor));
    double read = 0;
    for (const int tensor : ir::tensors_of(stage.body)) read += bytes_of(tensor_of(view, tensor));
    cycles += (work + cycles_of_bytes(2 * written + read, written + read, threads)) / threads +
              start_cycles(threads);
  }
  return cycles;
}

double cycles_in_strips(const StripPlan& plan, const StripChoice& choice, const Sketch& sketch) {
  const te::Workload& view = plan.prepared.view;
  const ir::Nest& nest = sketch.nest;
  const ir::SizedNest sized(nest, {});
  double work = 0;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block& block = nest.blocks[id];
    const ir::Buffer& written = nest.buffers[block.writes];
    if (written.constant) continue;
    double times = 1;
    for (const ir::LoopId loop : nest.loops_around(id))
      times *= nest.loops[loop].kind == ir::LoopKind::kVectorized
                   ? 1
                   : static_cast<double>(sized.extent(loop));
    const bool reduces = block.reduce != ir::ReduceOp::kNone;
    work += times * cycles_of_body(block.body, reduces);
  }
  // Bytes that a strip keeps, and how many strips there are.
  std::vector<std::int64_t> strip;
  double strips = 1, tiles = 1;
  const te::Stage& out = plan.stage(plan.output);
  for (int axis = 0; axis < std::ssize(out.iters); ++axis) {
    const std::int64_t extent = plan.extent(axis);
    std::int64_t size = extent;
    if (std::ranges::count(plan.batch, axis) > 0) size = 1;
    else if (axis == plan.lane && choice.width > 0) size = std::min(extent, choice.width);
    else if (axis == plan.rows.back()) size = std::min(extent, choice.rows);
    else if (std::ranges::count(plan.rows, axis) > 0) size = std::min(extent, choice.depth);
    strip.push_back(size);
    strips *= static_cast<double>((extent + size - 1) / size);
    if (out.iters[static_cast<std::size_t>(axis)].kind == te::IterKind::kSpatial)
      tiles *= axis == plan.lane
                   ? std::ceil(static_cast<double>(extent) /
                               static_cast<double>(plan.lanes * choice.vectors.value))
                   : static_cast<double>(extent);
  }
  const auto needed = needed_of(plan, strip);
  double kept = 0;
  for (const int s : plan.moved) {
    const std::string& name = plan.name(s);
    const ir::Buffer& buffer = nest.buffers[nest.find_buffer(name)];
    const bool whole = buffer.at == ir::kRoot;
    double bytes = size_of(buffer.dtype);
    const te::Stage& stage = plan.stage(s);
    for (std::size_t i = 0; i < stage.iters.size(); ++i)
      if (stage.iters[i].kind == te::IterKind::kSpatial)
        bytes *= static_cast<double>(whole ? stage.iters[i].extent
                                           : needed[static_cast<std::size_t>(s)][i]);
    if (nest.find_buffer(name + ".acc") >= 0 &&
        nest.buffers[nest.find_buffer(name + ".acc")].at == buffer.at && !whole)
      continue;  // it stays in registers
    kept += bytes;
  }
  const double written = bytes_of(tensor_of(view, out.tensor));
  double outside = written;
  for (const te::Tensor& tensor : view.tensors)
    if (tensor.role == te::TensorRole::kInput && !tensor.constant) outside += bytes_of(tensor);
  const int threads = plan.target.threads;
  const double bytes = cycles_of_bytes(3 * kept * strips, kept, threads) +
                       cycles_of_bytes(written + outside, outside, threads);
  return (work + bytes + kTileCycles * tiles + kBlockCycles * strips) /
             std::min<double>(threads, strips) +
         start_cycles(threads);
}

}  // namespace lathe::space
