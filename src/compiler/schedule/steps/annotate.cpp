#include "compiler/schedule/steps/annotate.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/box.h"
#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::LoopId;
using ir::LoopKind;

// True if the loops run as one: each is the only child of the one around it, and all are parallel
// but `loop`, which is to become so.
bool run_as_one(const ir::Nest& nest, LoopId outer, LoopId inner, LoopId loop) {
  for (LoopId at = inner; at != outer; at = nest.loops[at].parent) {
    const LoopId around = nest.loops[at].parent;
    const bool shared = around == loop || nest.loops[around].kind == LoopKind::kParallel;
    const bool holds =
        std::ranges::any_of(nest.buffers, [&](const ir::Buffer& b) { return b.at == around; });
    if (!shared || holds || nest.loops[around].body.size() != 1) return false;
  }
  return true;
}

// True if both loops may not be inside each other because of their kinds: each would have to run
// through what the other does.
bool clash(LoopKind a, LoopKind b) {
  return a == b || (ir::is_of_items(a) && ir::is_of_items(b) &&
                    (a == LoopKind::kItems || b == LoopKind::kItems));
}

// True if what is done in the inner loop is done for all items of the group, whichever iteration of
// the outer one they have: it fills memory of the group, which begins anew inside the outer loop.
bool fills_for_group(const ir::Nest& nest, LoopId outer, LoopId inner) {
  const auto blocks = nest.blocks_in(inner);
  return ir::is_of_items(nest.loops[outer].kind) && std::ranges::all_of(blocks, [&](auto id) {
           const ir::Buffer& filled = nest.buffers[nest.blocks[id].writes];
           return filled.scope == ir::Scope::kGroup && filled.at != ir::kRoot &&
                  nest.is_inside({ir::Item::Kind::kLoop, filled.at}, outer) &&
                  analysis::is_strictly_inside(nest, inner, filled.at);
         });
}

// True if memory of a group that is filled inside the loop would have to be filled for each item.
bool moves_memory_of_group(const ir::Nest& nest, LoopId loop) {
  const auto blocks = nest.blocks_in(loop);
  return std::ranges::any_of(blocks, [&](ir::BlockId id) {
    const ir::Buffer& filled = nest.buffers[nest.blocks[id].writes];
    return filled.scope == ir::Scope::kGroup && filled.at != ir::kRoot &&
           nest.is_inside({ir::Item::Kind::kLoop, filled.at}, loop) &&
           analysis::is_driven_by(nest.blocks[id], loop);
  });
}

StepResult<void> check_concurrent(ir::Nest& nest, LoopId loop, LoopKind kind) {
  const std::string name = nest.loops[loop].name;
  for (const ir::BlockId id : nest.blocks_in(loop)) {
    if (nest.is_reduction_loop(id, loop)) return refuse(Refusal::kReductionInParallel, name);
    if (analysis::writes_twice(nest, id, loop)) return refuse(Refusal::kBreaksDependence, name);
  }
  if (ir::is_of_items(kind) && moves_memory_of_group(nest, loop))
    return refuse(Refusal::kBindFirst, name);
  for (std::size_t i = 0; i < nest.loops.size(); ++i) {
    const auto other = static_cast<LoopId>(i);
    if (nest.loops[i].dead || !clash(nest.loops[i].kind, kind) || other == loop) continue;
    const bool around = analysis::is_strictly_inside(nest, other, loop);
    if (!around && !analysis::is_strictly_inside(nest, loop, other)) continue;
    if (!around && fills_for_group(nest, other, loop)) continue;
    if (kind != LoopKind::kParallel ||
        !run_as_one(nest, around ? loop : other, around ? other : loop, loop))
      return refuse(Refusal::kAlreadyBound, name);
  }
  return {};
}

StepResult<void> set_kind(ir::Nest& nest, LoopId loop, LoopKind kind) {
  ir::Loop& l = nest.loops[loop];
  if (is_tensorized(nest, loop)) return refuse(Refusal::kAlreadyBound, l.name);
  if (l.kind != LoopKind::kSerial && kind != LoopKind::kSerial && l.kind != kind)
    return refuse(Refusal::kAlreadyBound, l.name);
  if (ir::is_concurrent(kind)) {
    if (auto legal = check_concurrent(nest, loop, kind); !legal) return legal;
  }
  l.kind = kind;
  return {};
}

// A tail that is computed needs room past the end of whatever it touches; the caller's tensors have
// no such room.
bool touches_plain_border(const ir::Nest& nest, LoopId loop) {
  const auto is_plain = [&](const ir::Block& block, ir::BufferId buffer,
                            const std::vector<ir::Affine>& index) {
    const ir::Scope scope = nest.buffers[buffer].scope;
    // Stores are guarded.
    if (scope != ir::Scope::kInput && scope != ir::Scope::kLiteral) return false;
    return analysis::is_driven_by(block, index, loop);
  };
  for (const ir::BlockId id : nest.blocks_in(loop)) {
    const ir::Block& block = nest.blocks[id];
    for (const ir::Read* read : ir::reads_of(block.body))
      if (is_plain(block, read->tensor, read->index)) return true;
    if (!ir::lookups_of(block.body).empty()) return true;
  }
  return false;
}

StepResult<void> set_tail(ir::Nest& nest, LoopId loop, ir::Tail tail) {
  const std::string& name = nest.loops[loop].name;
  if (tail == ir::Tail::kShift && !analysis::may_repeat(nest, loop))
    return refuse(Refusal::kShiftRepeatsReduction, name);
  if (tail == ir::Tail::kPad && touches_plain_border(nest, loop))
    return refuse(Refusal::kPadNeedsOwnStorage, name);
  nest.loops[loop].tail = tail;
  return {};
}

StepResult<void> set_prefetch(ir::Nest& nest, LoopId loop, const Annotate& step) {
  const ir::BufferId buffer = LATHE_TRY(buffer_named(nest, step.buffer));
  const ir::SizeId bytes = LATHE_TRY(resolve(nest, step.bytes, 0, step.loop));
  if (analysis::readers_of(nest, buffer, loop).empty())
    return refuse(Refusal::kNotUsedThere, step.buffer);
  auto& list = nest.loops[loop].prefetch;
  std::erase_if(list, [&](const ir::Prefetch& p) { return p.buffer == buffer; });
  if (bytes != nest.sizes.constant(0)) list.push_back({buffer, bytes});
  return {};
}

}  // namespace

std::string Annotate::text() const {
  switch (what) {
    case What::kKind: return fmt::format("{} {}", ir::name_of(kind), loop);
    case What::kTail: return fmt::format("tail of {} is {}", loop, ir::name_of(tail));
    case What::kPrefetch: break;
  }
  return fmt::format("prefetch {} in {}, {} bytes ahead", buffer, loop, text_of(bytes));
}

StepResult<void> apply_step(ir::Nest& nest, const Annotate& step) {
  const LoopId loop = LATHE_TRY(loop_named(nest, step.loop));
  switch (step.what) {
    case Annotate::What::kKind: return set_kind(nest, loop, step.kind);
    case Annotate::What::kTail: return set_tail(nest, loop, step.tail);
    case Annotate::What::kPrefetch: return set_prefetch(nest, loop, step);
  }
  return refuse(Refusal::kBadNumber, step.loop);
}

}  // namespace lathe::schedule
