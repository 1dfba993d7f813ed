// What is known about iterators and constraints at the place where code is emitted.
#include <algorithm>

#include "compiler/lower/expand/expander.h"

namespace lathe::lower {

Range Expander::digit_range(const Digit& digit) const {
  const Binding& b = bound_[digit.loop];
  const auto scaled = [&](std::int64_t min, std::int64_t max) {
    return Range{std::min(digit.weight * min, digit.weight * max),
                 std::max(digit.weight * min, digit.weight * max)};
  };
  switch (b.kind) {
    case Binding::Kind::kUnbound: return free_range(digit);
    case Binding::Kind::kLane: return scaled(0, lanes_ - 1);
    case Binding::Kind::kStatic: {
      const Lin lin = digit_lin(digit);
      return {lin.c, lin.c};
    }
    case Binding::Kind::kDynamic: {
      if (digit.plain()) return scaled(ranges_[b.var].min, ranges_[b.var].max);
      for (const auto& d : b.derived) {
        if (d.div != digit.div || d.mod != digit.mod) continue;
        return d.var < 0 ? scaled(d.value, d.value)
                         : scaled(ranges_[d.var].min, ranges_[d.var].max);
      }
      return free_range(digit);  // not derived yet: its loop is just being entered
    }
  }
  return {};
}

Range Expander::iter_range(const BlockPlan& block, int index, bool clipped) const {
  const Iter& iter = block.iters[index];
  Range sum{iter.offset, iter.offset};
  for (const Digit& digit : iter.digits) {
    const Range r = digit_range(digit);
    sum.min += r.min;
    sum.max += r.max;
  }
  if (clipped) sum = {std::max<std::int64_t>(sum.min, 0), std::min(sum.max, iter.extent - 1)};
  return sum;
}

Range Expander::constraint_range(const BlockPlan& block, const Constraint& c) const {
  Range sum{c.offset, c.offset};
  for (const auto& [i, coef] : c.terms) {
    // Iterations outside the domain do not run, so other constraints need not hold there.
    const Range r = iter_range(block, i, c.kind != Constraint::Kind::kDomain && !c.beyond_domain);
    sum.min += std::min(coef * r.min, coef * r.max);
    sum.max += std::max(coef * r.min, coef * r.max);
  }
  return sum;
}

Status Expander::status(const BlockPlan& block, int constraint) const {
  const Constraint& c = block.constraints[constraint];
  const Range r = constraint_range(block, c);
  if (r.min >= c.low && r.max < c.high) return Status::kAlways;
  if (r.max < c.low || r.min >= c.high || r.min > r.max) return Status::kNever;
  return Status::kSometimes;
}

bool Expander::involves(const BlockPlan& block, const Constraint& c, LoopId loop) const {
  for (const auto& term : c.terms)
    for (const Digit& digit : block.iters[term.iter].digits)
      if (digit.loop == loop) return true;
  return false;
}

// True if iterations of `loop` that violate c may be left out altogether.
bool Expander::may_skip(BlockId id, const Constraint& c, LoopId loop) const {
  if (c.kind == Constraint::Kind::kDomain) return true;
  if (c.kind == Constraint::Kind::kSelect || keeps_iterations_[loop] != 0) return false;
  // The initialisation must run whatever the padding says.
  const LoopId init = blocks_[id].init_loop;
  return init != ir::kRoot && (loop == init || inside(loop, init));
}

bool Expander::never_runs(BlockId id, LoopId at) const {
  const BlockPlan& plan = blocks_[id];
  for (std::size_t k = 0; k < plan.constraints.size(); ++k) {
    const Constraint& c = plan.constraints[k];
    if (c.kind == Constraint::Kind::kSelect || (init_of_ && c.kind != Constraint::Kind::kDomain))
      continue;
    if (init_of_ && plan.iters[c.iter].reduce) continue;
    if (c.kind == Constraint::Kind::kKill && (at == ir::kRoot || !may_skip(id, c, at))) continue;
    if (status(plan, static_cast<int>(k)) == Status::kNever) return true;
  }
  return false;
}

Lin Expander::digit_lin(const Digit& digit) const {
  const Binding& b = bound_[digit.loop];
  Lin lin;
  switch (b.kind) {
    case Binding::Kind::kStatic: {
      std::int64_t v = b.value / digit.div;
      if (digit.mod > 0) v %= digit.mod;
      lin.c = digit.weight * v + (b.shift != 0 ? digit.weight * b.shift / b.shift_weight : 0);
      return lin;
    }
    case Binding::Kind::kLane: lin.lane = digit.weight; return lin;
    case Binding::Kind::kDynamic:
      if (digit.plain()) {
        lin.add(digit.weight, b.var);
        return lin;
      }
      for (const auto& d : b.derived) {
        if (d.div != digit.div || d.mod != digit.mod) continue;
        if (d.var < 0) lin.c = digit.weight * d.value;
        else lin.add(digit.weight, d.var);
        return lin;
      }
      [[fallthrough]];
    case Binding::Kind::kUnbound:
      if (init_of_) return lin;  // initialising leaves out reduction loops
      if (const Range r = free_range(digit); r.min == 0 && r.max == 0) return lin;
      LATHE_CHECK(false, "loop {} is used before it is bound", nest_.loops[digit.loop].name);
  }
  return lin;
}

Lin Expander::iter_lin(const BlockPlan& block, int index) const {
  Lin sum;
  sum.c = block.iters[index].offset;
  for (const Digit& digit : block.iters[index].digits) sum.add(1, digit_lin(digit));
  return sum;
}

Lin Expander::affine_lin(const BlockPlan& block, const std::vector<ir::AffineTerm>& terms,
                         std::int64_t offset) const {
  Lin sum;
  sum.c = offset;
  for (const auto& [i, coef] : terms) sum.add(coef, iter_lin(block, i));
  return sum;
}

}  // namespace lathe::lower
