// What blocks do: constraints, where reductions start and go on, and who waits for whom.
#include <algorithm>

#include "compiler/ir/expr/padding.h"
#include "compiler/lower/expand/planner.h"

namespace lathe::lower {

void Planner::plan_blocks() {
  plan_.blocks.resize(nest_.blocks.size());
  for (std::size_t id = 0; id < nest_.blocks.size(); ++id) {
    const ir::Block& block = nest_.blocks[id];
    BlockPlan& plan = plan_.blocks[id];
    plan.live = !block.dead;
    if (block.dead) continue;
    plan.path = nest_.loops_around(static_cast<BlockId>(id));
    for (const ir::BlockIter& it : block.iters) {
      Iter iter{{},
                sized_.or_else(it.offset, 0),
                sized_[it.extent],
                it.kind == ir::IterKind::kReduce,
                it.guard};
      for (const ir::LoopDigit& d : it.digits)
        iter.digits.push_back(
            {d.loop, sized_[d.weight], sized_.or_else(d.div, 1), sized_.or_else(d.mod, 0)});
      plan.iters.push_back(std::move(iter));
    }
    for (int i = 0; i < static_cast<int>(plan.iters.size()); ++i)
      plan.constraints.push_back(
          {Constraint::Kind::kDomain, i, nullptr, {{i, 1}}, 0, 0, plan.iters[i].extent});
    add_borders(static_cast<BlockId>(id));
  }
  plan_.blocks_in.resize(nest_.loops.size());
  for (std::size_t id = 0; id < nest_.blocks.size(); ++id)
    for (const LoopId loop : plan_.blocks[id].path)
      plan_.blocks_in[loop].push_back(static_cast<BlockId>(id));
}

void Planner::add_borders(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  ir::for_each_node(block.body, [&](const ir::Expr& e) {
    const ir::PaddedRead value = ir::padded_read_of(e);
    if (value.node == nullptr) return;
    const auto kind = ir::kills(block.reduce, block.body, value) ? Constraint::Kind::kKill
                                                                 : Constraint::Kind::kSelect;
    const auto add = [&](const ir::Affine& row, std::int64_t low, std::int64_t high) {
      plan_.blocks[id].constraints.push_back(
          {kind, -1, value.node, row.terms, row.offset, low, high});
    };
    if (const auto* read = std::get_if<ir::Read>(&e->value)) {
      const auto& shape = nest_.buffers[read->tensor].shape;
      for (std::size_t d = 0; d < read->index.size(); ++d) add(read->index[d], 0, sized_[shape[d]]);
    } else {
      const ir::Expr& condition = std::get<ir::Select>(e->value).condition;
      for (const auto& row : std::get<ir::InRange>(condition->value).rows)
        add(row.index, row.low, row.high);
    }
  });
}

// True if elements may get no term in some iteration of a loop that belongs to both the result and
// the reduction (rfactor). They must be started or reloaded all the same.
bool Planner::leaves_out_terms(BlockId id, LoopId loop) const {
  const Place nowhere(plan_);
  const BlockPlan& plan = plan_.blocks[id];
  for (int k = 0; k < static_cast<int>(plan.constraints.size()); ++k) {
    const Constraint& c = plan.constraints[k];
    if (c.kind == Constraint::Kind::kDomain && plan.iters[c.iter].reduce &&
        plan_.involves(plan, c, loop) && nowhere.status(plan, k) != Status::kAlways)
      return true;
  }
  return false;
}

void Planner::plan_reductions(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  BlockPlan& plan = plan_.blocks[id];
  if (block.reduce == ir::ReduceOp::kNone) return;
  const ir::Buffer& result = nest_.buffers[block.writes];
  for (const LoopId loop : plan.path) {
    if (!plan_.reduces_over(id, loop)) continue;
    if (!plan_.inside(loop, result.at)) {
      plan.resumed_over.push_back(loop);
      plan_.keeps_iterations[loop] = 1;
    }
  }
  const auto starts = [&](LoopId loop) {
    return plan_.inside(loop, result.at) &&
           (plan_.reduces_over(id, loop) || leaves_out_terms(id, loop));
  };
  if (const auto first = std::ranges::find_if(plan.path, starts); first != plan.path.end())
    plan.init_loop = *first;
  if (!plan.resumed_over.empty() && result.cache_of < 0)
    refuse(ErrorKind::kIllegalSchedule,
           "the partial results of {} are lost between iterations of {}: keep {} outside that "
           "loop, or cache it there",
           block.name, nest_.loops[plan.resumed_over[0]].name, result.name);
}

// A block that reads a reduction's result inside one of the reduction's loops must wait for the
// last iteration of that loop.
void Planner::plan_consumers(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  BlockPlan& plan = plan_.blocks[id];
  for (const BufferId read : ir::tensors_of(block.body)) {
    // A write-back saves partial results, too.
    if (plan_.is_cache_of(read, block.writes)) continue;
    for (BlockId w = 0; w < static_cast<BlockId>(plan_.blocks.size()); ++w) {
      if (w == id || nest_.blocks[w].dead || nest_.blocks[w].writes != read) continue;
      BlockPlan::Progress progress{w, {}};
      for (const LoopId loop : plan.path) {
        if (!plan_.reduces_over(w, loop)) continue;
        progress.loops.push_back(loop);
        plan_.keeps_iterations[loop] = 1;
      }
      if (!progress.loops.empty()) plan.only_in_last.push_back(std::move(progress));
    }
  }
}

// What a waiting block computes is there only after it has run, so its readers in the same loops
// wait too.
void Planner::inherit_waits(BlockId id) {
  BlockPlan& plan = plan_.blocks[id];
  for (const BufferId read : ir::tensors_of(nest_.blocks[id].body)) {
    for (BlockId w = 0; w < static_cast<BlockId>(plan_.blocks.size()); ++w) {
      if (w == id || nest_.blocks[w].dead || nest_.blocks[w].writes != read) continue;
      for (BlockPlan::Progress progress : plan_.blocks[w].only_in_last) {
        std::erase_if(progress.loops,
                      [&](LoopId l) { return std::ranges::find(plan.path, l) == plan.path.end(); });
        if (!progress.loops.empty()) plan.only_in_last.push_back(std::move(progress));
      }
    }
  }
}

void Planner::drop_dead_write_backs() {
  for (std::size_t id = 0; id < plan_.blocks.size(); ++id) {
    const ir::Block& block = nest_.blocks[id];
    if (block.dead || nest_.buffers[block.writes].scope != ir::Scope::kMemory) continue;
    const auto reads = ir::tensors_of(block.body);
    if (reads.size() != 1 || !plan_.is_cache_of(reads[0], block.writes)) continue;
    bool read_elsewhere = false;
    for (std::size_t r = 0; r < plan_.blocks.size(); ++r) {
      if (nest_.blocks[r].dead || r == id) continue;
      for (const BufferId read : ir::tensors_of(nest_.blocks[r].body))
        read_elsewhere |= read == block.writes;
    }
    if (read_elsewhere) continue;
    BlockPlan::Progress progress;
    for (std::size_t w = 0; w < plan_.blocks.size(); ++w)
      if (!nest_.blocks[w].dead && nest_.blocks[w].writes == reads[0] && w != id)
        progress = {static_cast<BlockId>(w), plan_.blocks[w].resumed_over};
    plan_.blocks[id].live = !progress.loops.empty();
    plan_.blocks[id].never_in_last = progress;
  }
}

}  // namespace lathe::lower
