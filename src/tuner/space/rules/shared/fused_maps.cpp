#include "tuner/space/rules/shared/fused_maps.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "compiler/ir/expr/effort.h"
#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

// Shorter rows have as many iterations for the loops as for what is in them: softmax of 4096 rows
// of 16 takes three times as long with exponentials and their sum in one loop.
constexpr std::int64_t kFewestInARow = 64;

// True if its elements take as long as several passes over them: only then does a pass that is
// saved pay for a loop that does two things. Norms take 0.94 to 1.0 of the time without.
bool calls_functions(const ir::Expr& body) {
  bool any = false;
  ir::for_each_node(body, [&](const ir::Expr& e) {
    const auto* unary = std::get_if<ir::Unary>(&e->value);
    any = any || (unary != nullptr && ir::effort_of(unary->op) == ir::Effort::kFunction);
  });
  return any;
}

// Along an axis that it does not have, each tile of the sum would compute it again.
bool has_all_axes(const ir::Read& read, const te::Stage& reduction) {
  for (int i = 0; i < static_cast<int>(reduction.iters.size()); ++i)
    if (reduction.iters[static_cast<std::size_t>(i)].extent > 1 && !touches(read.index, i))
      return false;
  return true;
}

bool is_candidate(const te::Workload& view, const te::Stage& map, const te::Stage& reduction,
                  const ir::Nest& nest) {
  const te::Tensor& tensor = view.tensors[static_cast<std::size_t>(map.tensor)];
  if (map.reduce != ir::ReduceOp::kNone || is_copy(map) || tensor.constant || map.iters.empty() ||
      nest.buffers[map.tensor].scope != ir::Scope::kMemory || tensor.shape.back() < kFewestInARow ||
      !calls_functions(map.body))
    return false;
  return std::ranges::any_of(ir::reads_of(reduction.body), [&](const ir::Read* read) {
    return read->tensor == map.tensor && has_all_axes(*read, reduction);
  });
}

}  // namespace

void fuse_maps(const te::Workload& view, const te::Stage& reduction, const std::string& loop,
               const CpuTarget& target, ir::Nest& nest, schedule::Trace& trace,
               std::set<std::string>& placed) {
  if (has_reuse(reduction)) return;
  for (const te::Stage& map : view.stages) {
    const std::string name = view.tensors[static_cast<std::size_t>(map.tensor)].name;
    if (placed.contains(name) || !is_candidate(view, map, reduction, nest)) continue;
    const ir::Block& block = nest.blocks[nest.find_block(name)];
    const std::string along =
        name + "." +
        block.iters[static_cast<std::size_t>(block.index.back().terms.at(0).iter)].name + "@" +
        loop;
    const auto step = [&](schedule::Step s) { return try_step(nest, trace, std::move(s), false); };
    if (!step(schedule::ComputeAt{name, loop})) continue;
    placed.insert(name);
    const std::int64_t lanes = target.lanes(size_of(map.body->dtype));
    const ir::SizeId extent = nest.loops[nest.find_loop(along)].extent;
    const bool one = nest.sizes.is_constant(extent) && nest.sizes.constant_value(extent) <= lanes;
    if (!one) step(schedule::Split{along, lanes, along + ".o", along + ".l", ir::Tail::kPeel});
    step(schedule::Annotate{.loop = one ? along : along + ".l", .kind = ir::LoopKind::kVectorized});
  }
}

}  // namespace lathe::space
