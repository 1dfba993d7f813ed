#include "compiler/lower/expand/expand.h"

#include <algorithm>

#include "compiler/lower/expand/expander.h"

namespace lathe::lower {

Expander::Expander(const ir::SizedNest& nest, const Target& target, const Limits& limits)
    : sized_(nest), nest_(*nest.nest), target_(target), limits_(limits) {}

flat::Program Expander::run() {
  bound_.resize(nest_.loops.size());
  keeps_iterations_.assign(nest_.loops.size(), 0);
  storage_.resize(nest_.buffers.size());
  plan_blocks();
  const auto live = [&](BlockId id) { return !nest_.blocks[id].dead; };
  for (BlockId id = 0; id < static_cast<BlockId>(blocks_.size()); ++id)
    if (live(id)) plan_reductions(id);
  for (BlockId id = 0; id < static_cast<BlockId>(blocks_.size()); ++id)
    if (live(id)) plan_consumers(id);
  for (const BlockId id : nest_.blocks_in_order()) inherit_waits(id);
  drop_dead_write_backs();
  for (BufferId id = 0; id < static_cast<BufferId>(nest_.buffers.size()); ++id) plan_storage(id);
  for (BlockId id = 0; id < static_cast<BlockId>(blocks_.size()); ++id)
    if (live(id)) fill_padding(id);
  plan_borders();
  allocate();

  // What depends only on constants runs once, in prepare().
  std::vector<flat::Stmt> prepare, run;
  for (const ir::Item& item : nest_.root) {
    const auto blocks = item.kind == ir::Item::Kind::kBlock ? std::vector<BlockId>{item.id} : blocks_in_[item.id];
    const bool constant = std::ranges::all_of(
        blocks, [&](BlockId id) { return nest_.buffers[nest_.blocks[id].writes].constant; });
    out_ = constant ? &prepare : &run;
    emit_items({item});
  }
  program_.prepare = prepare.empty() ? nullptr : flat::seq(std::move(prepare));
  program_.run = flat::seq(std::move(run));
  return std::move(program_);
}

Result<flat::Program> expand(const ir::SizedNest& nest, const Target& target, const Limits& limits) {
  try {
    return Expander(nest, target, limits).run();
  } catch (Refused& refused) {
    return std::unexpected(std::move(refused.error));
  }
}

}  // namespace lathe::lower
