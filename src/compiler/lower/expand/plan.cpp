#include "compiler/lower/expand/plan.h"

#include <algorithm>

#include "compiler/lower/expand/planner.h"

namespace lathe::lower {

bool Plan::inside(LoopId loop, LoopId ancestor) const {
  return loop != ancestor &&
         (ancestor == ir::kRoot || nest.is_inside({ir::Item::Kind::kLoop, loop}, ancestor));
}

bool Plan::in_parallel(LoopId loop) const {
  for (; loop != ir::kRoot; loop = nest.loops[loop].parent)
    if (ir::is_concurrent(nest.loops[loop].kind)) return true;
  return false;
}

bool Plan::is_cache_of(BufferId cache, BufferId buffer) const {
  return nest.buffers[cache].cache_of == buffer;
}

Range Plan::free_range(const LoopDigit& digit) const {
  std::int64_t count = (sized.extent(digit.loop) + digit.div - 1) / digit.div;
  if (digit.mod > 0) count = std::min(count, digit.mod);
  const std::int64_t far = digit.weight * (count - 1);
  return {std::min<std::int64_t>(0, far), std::max<std::int64_t>(0, far)};
}

bool Plan::reduces_over(BlockId block, LoopId loop) const {
  return nest.is_reduction_loop(block, loop);
}

std::vector<BlockId> Plan::blocks_of(const ir::Item& item) const {
  return item.kind == ir::Item::Kind::kBlock ? std::vector<BlockId>{item.id} : blocks_in[item.id];
}

std::vector<std::pair<std::int64_t, std::int64_t>> Plan::fused_digits(LoopId loop) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const BlockId id : blocks_in[loop])
    for (const Iter& iter : blocks[id].iters)
      for (const LoopDigit& d : iter.digits)
        if (d.loop == loop && std::ranges::count(out, std::pair{d.div, d.mod}) == 0)
          out.emplace_back(d.div, d.mod);
  return out;
}

bool Plan::has_fused_digit(LoopId loop) const {
  const auto digits = fused_digits(loop);
  return std::ranges::any_of(
      digits, [](const auto& d) { return d != std::pair<std::int64_t, std::int64_t>{1, 0}; });
}

bool Plan::involves(const BlockPlan& block, const Constraint& c, LoopId loop) const {
  for (const auto& term : c.terms)
    for (const LoopDigit& digit : block.iters[term.iter].digits)
      if (digit.loop == loop) return true;
  return false;
}

bool Plan::has_items(LoopId loop) const {
  const LoopId top = nest.path_to(loop).front();
  for (const BlockId id : blocks_in[top])
    for (const LoopId l : blocks[id].path)
      if (ir::is_of_items(nest.loops[l].kind) && nest.loops[l].kind != ir::LoopKind::kItems &&
          sized.extent(l) > 1)
        return true;
  return false;
}

std::vector<LoopId> Plan::bound_over(BlockId block) const {
  const BufferId written = nest.blocks[block].writes;
  std::vector<LoopId> out;
  for (const LoopId l : blocks[block].path) {
    const ir::LoopKind kind = nest.loops[l].kind;
    if (kind < ir::LoopKind::kBlockX || sized.extent(l) == 1) continue;
    const bool for_all =
        ir::is_of_items(kind) && is_of_group(written) && !inside(l, nest.buffers[written].at);
    if (!for_all) out.push_back(l);
  }
  return out;
}

bool Plan::items_meet_in(LoopId loop) const {
  const auto touches = [&](BlockId id, BufferId buffer) {
    const auto reads = ir::tensors_of(nest.blocks[id].body);
    return nest.blocks[id].writes == buffer || std::ranges::find(reads, buffer) != reads.end();
  };
  return std::ranges::any_of(blocks_in[loop], [&](BlockId fills) {
    const BufferId filled = nest.blocks[fills].writes;
    return is_of_group(filled) && std::ranges::any_of(blocks_in[loop], [&](BlockId other) {
             return other != fills && touches(other, filled);
           });
  });
}

int Plan::stages_of(LoopId loop) const {
  int stages = 1;
  for (const ir::Buffer& buffer : nest.buffers)
    if (buffer.at == loop) stages = std::max(stages, buffer.stages);
  return stages;
}

bool Plan::fills_stage(const ir::Item& item, LoopId loop) const {
  return std::ranges::all_of(blocks_of(item), [&](BlockId id) {
    const ir::Buffer& written = nest.buffers[nest.blocks[id].writes];
    return written.at == loop && written.stages > 1;
  });
}

BlockId Plan::sum_of_lanes(LoopId loop) const {
  const auto& body = nest.loops[loop].body;
  if (body.size() != 1 || body[0].kind != ir::Item::Kind::kBlock) return -1;
  const BlockId id = body[0].id;
  const auto* read = std::get_if<ir::Read>(&nest.blocks[id].body->value);
  if (read == nullptr || !reduces_over(id, loop)) return -1;
  const auto is_over = [&](const SpreadDigit& own) {
    return own.axis == ir::LoopKind::kThreadX &&
           std::ranges::any_of(read->index[own.dim].terms, [&](const ir::AffineTerm& term) {
             return std::ranges::any_of(blocks[id].iters[term.iter].digits,
                                        [&](const LoopDigit& digit) {
                                          return digit.loop == loop && digit.plain() &&
                                                 term.coef * digit.weight == own.weight;
                                        });
           });
  };
  return std::ranges::any_of(spread[read->tensor], is_over) ? id : -1;
}

bool Plan::items_exchange_in(LoopId loop) const {
  return std::ranges::any_of(blocks_in[loop], [&](BlockId id) {
    const LoopId around = nest.blocks[id].parent;
    return around != ir::kRoot && sum_of_lanes(around) == id;
  });
}

Planner::Planner(const ir::SizedNest& nest, const Limits& limits, const std::optional<Grids>& grids)
    : sized_(nest),
      nest_(*nest.nest),
      limits_(limits),
      plan_{.sized = sized_,
            .nest = nest_,
            .blocks = {},
            .storage = {},
            .spread = {},
            .blocks_in = {},
            .prepared = {},
            .lies_in = {},
            .keeps_iterations = {},
            .grids = grids} {
  plan_.keeps_iterations.assign(nest_.loops.size(), 0);
  plan_.storage.resize(nest_.buffers.size());
  plan_.spread.resize(nest_.buffers.size());
}

Planned Planner::run() {
  plan_blocks();
  const auto live = [&](BlockId id) { return !nest_.blocks[id].dead; };
  const auto blocks = static_cast<BlockId>(plan_.blocks.size());
  for (BlockId id = 0; id < blocks; ++id)
    if (live(id)) plan_reductions(id);
  for (BlockId id = 0; id < blocks; ++id)
    if (live(id)) plan_consumers(id);
  for (const BlockId id : nest_.blocks_in_order()) inherit_waits(id);
  drop_dead_write_backs();
  plan_spread();
  for (BufferId id = 0; id < static_cast<BufferId>(nest_.buffers.size()); ++id) plan_storage(id);
  for (BlockId id = 0; id < blocks; ++id)
    if (live(id)) fill_padding(id);
  plan_borders();
  plan_prepare();
  share_outputs();
  allocate();
  return {std::move(plan_), std::move(program_)};
}

Planned make_plan(const ir::SizedNest& nest, const Limits& limits,
                  const std::optional<Grids>& grids) {
  return Planner(nest, limits, grids).run();
}

}  // namespace lathe::lower
