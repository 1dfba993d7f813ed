#include "compiler/lower/expand/expand.h"

#include <algorithm>
#include <utility>

#include "compiler/lower/expand/expander.h"

namespace lathe::lower {

Expander::Expander(const ir::SizedNest& nest, const Target& target, const Limits& limits)
    : sized_(nest), nest_(*nest.nest), target_(target), limits_(limits) {}

std::vector<BlockId> Expander::blocks_of(const ir::Item& item) const {
  return item.kind == ir::Item::Kind::kBlock ? std::vector<BlockId>{item.id} : blocks_in_[item.id];
}

// Code that depends only on constants runs once, in prepare(): whole top-level items. A constant
// buffer may be computed in one loop with others; it is then computed in every run, and so is what
// reads it.
void Expander::plan_prepare() {
  prepared_.assign(nest_.buffers.size(), 0);
  for (std::size_t id = 0; id < nest_.buffers.size(); ++id)
    prepared_[id] = nest_.buffers[id].constant;
  const auto unprepared = [&](BlockId id) {
    const ir::Block& block = nest_.blocks[id];
    const auto reads = ir::reads_of(block.body);
    const auto varies = [&](const ir::Read* read) {
      const ir::Buffer& buffer = nest_.buffers[read->tensor];
      return buffer.scope != ir::Scope::kLiteral && prepared_[read->tensor] == 0;
    };
    return prepared_[block.writes] == 0 || std::ranges::any_of(reads, varies);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const ir::Item& item : nest_.root) {
      const auto blocks = blocks_of(item);
      if (std::ranges::none_of(blocks, unprepared)) continue;
      for (const BlockId id : blocks)
        changed |= std::exchange(prepared_[nest_.blocks[id].writes], 0) != 0;
    }
  }
}

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
  plan_prepare();
  allocate();

  std::vector<flat::Stmt> prepare, run;
  for (const ir::Item& item : nest_.root) {
    const auto blocks = blocks_of(item);
    const bool prepared = std::ranges::all_of(
        blocks, [&](BlockId id) { return prepared_[nest_.blocks[id].writes] != 0; });
    out_ = prepared ? &prepare : &run;
    emit_items({item});
  }
  program_.prepare = prepare.empty() ? nullptr : flat::seq(std::move(prepare));
  program_.run = flat::seq(std::move(run));
  return std::move(program_);
}

Result<flat::Program> expand(const ir::SizedNest& nest, const Target& target,
                             const Limits& limits) {
  try {
    return Expander(nest, target, limits).run();
  } catch (Refused& refused) {
    return std::unexpected(std::move(refused.error));
  }
}

}  // namespace lathe::lower
