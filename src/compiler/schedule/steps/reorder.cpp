#include "compiler/schedule/steps/reorder.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::LoopId;

// All loops from the outermost to the innermost of `loops`, with every loop between them; empty if
// they are not on one path.
std::vector<LoopId> chain_through(const ir::Nest& nest, const std::vector<LoopId>& loops) {
  const LoopId deepest =
      *std::ranges::max_element(loops, {}, [&](LoopId loop) { return nest.path_to(loop).size(); });
  std::vector<LoopId> path = nest.path_to(deepest);
  std::size_t first = path.size();
  for (const LoopId loop : loops) {
    const auto found = std::ranges::find(path, loop);
    if (found == path.end()) return {};
    first = std::min(first, static_cast<std::size_t>(found - path.begin()));
  }
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(first));
  return path;
}

}  // namespace

std::string Reorder::text() const { return fmt::format("reorder {}", fmt::join(loops, ", ")); }

StepResult<void> apply_step(ir::Nest& nest, const Reorder& step) {
  std::vector<LoopId> wanted;
  for (const std::string& name : step.loops) {
    const LoopId loop = LATHE_TRY(loop_named(nest, name));
    if (std::ranges::find(wanted, loop) != wanted.end()) return refuse(Refusal::kNamedTwice, name);
    wanted.push_back(loop);
  }
  if (wanted.empty()) return refuse(Refusal::kTooFewLoops, "reorder");
  const std::vector<LoopId> chain = chain_through(nest, wanted);
  if (chain.empty()) return refuse(Refusal::kNotOnOnePath, step.loops.back());
  for (const LoopId loop : chain) {
    if (is_tensorized(nest, loop)) return refuse(Refusal::kAlreadyBound, nest.loops[loop].name);
    if (loop == chain.back()) continue;
    const bool holds =
        std::ranges::any_of(nest.buffers, [&](const ir::Buffer& b) { return b.at == loop; });
    if (nest.loops[loop].body.size() != 1 || holds)
      return refuse(Refusal::kNotNested, nest.loops[loop].name);
  }
  std::vector<LoopId> order = chain;
  std::size_t next = 0;
  for (LoopId& loop : order)
    if (std::ranges::find(wanted, loop) != wanted.end()) loop = wanted[next++];

  const std::vector<ir::Item> body = nest.loops[chain.back()].body;
  const LoopId parent = nest.loops[chain.front()].parent;
  for (ir::Item& item : nest.children(parent))
    if (item == ir::Item{ir::Item::Kind::kLoop, chain.front()}) item.id = order.front();
  for (std::size_t i = 0; i < order.size(); ++i) {
    nest.loops[order[i]].parent = i == 0 ? parent : order[i - 1];
    nest.loops[order[i]].body =
        i + 1 == order.size() ? body : std::vector<ir::Item>{{ir::Item::Kind::kLoop, order[i + 1]}};
  }
  for (const ir::Item& item : body) nest.set_parent(item, order.back());
  // One iteration of the innermost loop is still the same: it has one value for every loop of the
  // path.
  move_buffers(nest, chain.back(), order.back());
  for (const LoopId loop : order)
    if (nest.loops[loop].tail == ir::Tail::kShift && !analysis::may_repeat(nest, loop))
      return refuse(Refusal::kShiftRepeatsReduction, nest.loops[loop].name);
  return {};
}

}  // namespace lathe::schedule
