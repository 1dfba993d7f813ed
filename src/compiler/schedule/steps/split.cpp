#include "compiler/schedule/steps/split.h"

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::LoopDigit;
using ir::LoopId;
using ir::SizeId;

class Splitter {
 public:
  Splitter(ir::Nest& nest, LoopId loop, SizeId factor, LoopId outer, LoopId inner)
      : nest_(nest), loop_(loop), factor_(factor), outer_(outer), inner_(inner) {}

  // Tells, before the digits change, whether a guard must keep iterations with outer*factor + inner
  // >= extent out of the block.
  bool needs_guard(const ir::Block& block) const {
    const SizeId extent = nest_.loops[loop_].extent;
    if (nest_.sizes.divides(factor_, extent) || !analysis::is_driven_by(block, loop_)) return false;
    for (const ir::BlockIter& iter : block.iters)
      for (const LoopDigit& digit : iter.digits)
        if (digit.loop == loop_ && leaves_domain(iter, digit)) return false;
    return true;
  }

  // True for a write-back that this loop does not drive but that follows a sum over it. It must not
  // run where there was nothing to sum; and if it waits for the last iteration, that one must sum.
  bool writes_back_sum(ir::BlockId id) const {
    if (nest_.sizes.divides(factor_, nest_.loops[loop_].extent) || !nest_.is_write_back(id))
      return false;
    return !analysis::is_driven_by(nest_.blocks[id], loop_) &&
           nest_.is_reduction_loop(producer_of(id), loop_);
  }
  bool loses_last_iteration(ir::BlockId id) const {
    return !nest_.sizes.divides(factor_, nest_.loops[loop_].extent) &&
           analysis::waits_for(nest_, id, loop_);
  }

  void add_guard(ir::BlockId id) {
    const bool reduces = nest_.is_reduction_loop(id, loop_);
    ir::BlockIter guard;
    guard.name = nest_.loops[loop_].name;
    guard.extent = nest_.loops[loop_].extent;
    guard.kind = reduces ? ir::IterKind::kReduce : ir::IterKind::kSpatial;
    guard.digits = {{loop_, nest_.sizes.constant(1)}};
    guard.guard = true;
    nest_.blocks[id].iters.push_back(std::move(guard));
  }

  // Writes (outer*f + inner) / div % mod as digits of outer and inner; false if it has no such
  // form.
  bool append(const LoopDigit& digit, std::vector<LoopDigit>& out) {
    ir::Sizes& s = nest_.sizes;
    const SizeId w = digit.weight;
    const SizeId one = s.constant(1), div = digit.div == SizeId::kNone ? one : digit.div;
    if (div != one && !s.divides(div, factor_)) {
      if (!s.divides(factor_, div)) return false;
      out.push_back({outer_, w, or_none(s.ceildiv(div, factor_)), digit.mod});
      return true;
    }
    const SizeId steps = s.ceildiv(factor_, div);  // outer counts this many units of the digit
    if (digit.mod == SizeId::kNone) {
      out.push_back({outer_, s.mul(w, steps), SizeId::kNone, SizeId::kNone});
      out.push_back({inner_, w, digit.div, SizeId::kNone});
    } else if (s.divides(digit.mod, steps)) {
      out.push_back({inner_, w, digit.div, digit.mod});
    } else if (s.divides(steps, digit.mod)) {
      out.push_back({outer_, s.mul(w, steps), SizeId::kNone, s.ceildiv(digit.mod, steps)});
      out.push_back({inner_, w, digit.div, SizeId::kNone});
    } else {
      return false;
    }
    return true;
  }

 private:
  ir::BlockId producer_of(ir::BlockId write_back) const {
    return nest_.writer_of(nest_.blocks[write_back].writes);
  }
  SizeId or_none(SizeId size) const { return is_one(nest_.sizes, size) ? SizeId::kNone : size; }

  // True if iterations of the loop past its extent put the iterator outside its domain.
  bool leaves_domain(const ir::BlockIter& iter, const LoopDigit& digit) const {
    if (digit.mod != SizeId::kNone || iter.offset != SizeId::kNone) return false;
    for (const LoopDigit& other : iter.digits)
      if (nest_.sizes.is_negative(other.weight)) return false;
    SizeId count = nest_.loops[loop_].extent;
    if (digit.div != SizeId::kNone) {
      if (!nest_.sizes.divides(digit.div, count)) return false;
      count = nest_.sizes.ceildiv(count, digit.div);
    }
    return nest_.sizes.at_least(nest_.sizes.mul(digit.weight, count), iter.extent);
  }

  ir::Nest& nest_;
  LoopId loop_;
  SizeId factor_;
  LoopId outer_, inner_;
};

}  // namespace

std::string Split::text() const {
  return fmt::format("split {} by {} into {}, {}, tail {}", loop, text_of(factor), outer, inner,
                     ir::name_of(tail));
}

StepResult<void> apply_step(ir::Nest& nest, const Split& step) {
  const LoopId loop = LATHE_TRY(loop_named(nest, step.loop));
  const SizeId factor = LATHE_TRY(resolve(nest, step.factor, 1, step.loop));
  if (nest.loops[loop].kind != ir::LoopKind::kSerial || is_tensorized(nest, loop))
    return refuse(Refusal::kAlreadyBound, step.loop);
  const ir::Loop old = nest.loops[loop];
  if (is_tile_too_long(nest.sizes, old.extent, factor)) return refuse(Refusal::kTooLong, step.loop);
  nest.loops[loop].name.clear();  // its name is free for the new ones
  const LoopId outer =
      LATHE_TRY(add_loop(nest, step.outer, nest.sizes.ceildiv(old.extent, factor), old.parent));
  nest.children(old.parent).pop_back();
  const LoopId inner = LATHE_TRY(add_loop(nest, step.inner, factor, outer));
  nest.loops[loop].name = old.name;

  Splitter splitter(nest, loop, factor, outer, inner);
  const std::vector<ir::BlockId> blocks = nest.blocks_in(loop);
  for (const ir::BlockId id : blocks) {
    if (splitter.loses_last_iteration(id)) return refuse(Refusal::kBadFactor, step.loop);
    if (splitter.needs_guard(nest.blocks[id]) || splitter.writes_back_sum(id))
      splitter.add_guard(id);
  }
  for (const ir::BlockId id : blocks) {
    for (ir::BlockIter& iter : nest.blocks[id].iters) {
      std::vector<LoopDigit> digits;
      for (const LoopDigit& digit : iter.digits) {
        if (digit.loop != loop) digits.push_back(digit);
        else if (!splitter.append(digit, digits)) return refuse(Refusal::kBadFactor, step.loop);
      }
      iter.digits = std::move(digits);
    }
  }
  replace_child(nest, loop, outer);
  nest.loops[outer].tail = old.tail;
  nest.loops[inner].tail = step.tail;
  nest.loops[inner].prefetch = old.prefetch;
  for (const ir::Item& item : old.body) nest.set_parent(item, inner);
  nest.loops[inner].body = old.body;
  nest.loops[loop].body.clear();
  nest.loops[loop].dead = true;
  move_buffers(nest, loop, inner);
  if (step.tail == ir::Tail::kShift && !analysis::may_repeat(nest, inner))
    return refuse(Refusal::kShiftRepeatsReduction, step.inner);
  return {};
}

}  // namespace lathe::schedule
