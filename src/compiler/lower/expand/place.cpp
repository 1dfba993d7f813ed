#include "compiler/lower/expand/place.h"

#include <algorithm>

namespace lathe::lower {

Place::Place(const Plan& own) : plan(own) {
  bound.resize(plan.nest.loops.size());
  stage.resize(plan.nest.loops.size());
  for (const BlockPlan& block : plan.blocks) proven.emplace_back(block.constraints.size(), 0);
  deferred = proven;
}

Range Place::digit_range(const LoopDigit& digit) const {
  const Binding& b = bound[digit.loop];
  const auto scaled = [&](std::int64_t min, std::int64_t max) {
    return Range{std::min(digit.weight * min, digit.weight * max),
                 std::max(digit.weight * min, digit.weight * max)};
  };
  switch (b.kind) {
    case Binding::Kind::kUnbound: return plan.free_range(digit);
    case Binding::Kind::kLane: return scaled(0, lanes - 1);
    case Binding::Kind::kStatic: {
      const Lin lin = digit_lin(digit);
      return {lin.c, lin.c};
    }
    case Binding::Kind::kDynamic: {
      if (digit.plain()) return scaled(ranges[b.var].min, ranges[b.var].max);
      for (const auto& d : b.derived) {
        if (d.div != digit.div || d.mod != digit.mod) continue;
        return d.var < 0 ? scaled(d.value, d.value) : scaled(ranges[d.var].min, ranges[d.var].max);
      }
      return plan.free_range(digit);  // not derived yet: its loop is just being entered
    }
  }
  return {};
}

Range Place::iter_range(const BlockPlan& block, int index, bool clipped) const {
  const Iter& iter = block.iters[index];
  Range sum{iter.offset, iter.offset};
  for (const LoopDigit& digit : iter.digits) {
    const Range r = digit_range(digit);
    sum.min += r.min;
    sum.max += r.max;
  }
  if (clipped) sum = {std::max<std::int64_t>(sum.min, 0), std::min(sum.max, iter.extent - 1)};
  return sum;
}

Range Place::constraint_range(const BlockPlan& block, const Constraint& c) const {
  Range sum{c.offset, c.offset};
  for (const auto& [i, coef] : c.terms) {
    // Iterations outside the domain do not run, so other constraints need not hold there.
    const Range r = iter_range(block, i, c.kind != Constraint::Kind::kDomain && !c.beyond_domain);
    sum.min += std::min(coef * r.min, coef * r.max);
    sum.max += std::max(coef * r.min, coef * r.max);
  }
  return sum;
}

Status Place::status(const BlockPlan& block, int constraint) const {
  const Constraint& c = block.constraints[constraint];
  const Range r = constraint_range(block, c);
  if (r.min >= c.low && r.max < c.high) return Status::kAlways;
  if (r.max < c.low || r.min >= c.high || r.min > r.max) return Status::kNever;
  return Status::kSometimes;
}

bool Place::always_runs(BlockId id) const {
  const BlockPlan& block = plan.blocks[id];
  for (int k = 0; k < static_cast<int>(block.constraints.size()); ++k)
    if (proven[id][k] == 0 && status(block, k) != Status::kAlways) return false;
  return true;
}

// True if iterations of `loop` that violate c may be left out altogether.
bool Place::may_skip(BlockId id, const Constraint& c, LoopId loop) const {
  if (c.kind == Constraint::Kind::kDomain) return true;
  if (c.kind == Constraint::Kind::kSelect || plan.keeps_iterations[loop] != 0) return false;
  // The initialisation must run whatever the padding says.
  const LoopId init = plan.blocks[id].init_loop;
  return init != ir::kRoot && (loop == init || plan.inside(loop, init));
}

bool Place::never_runs(BlockId id, LoopId at) const {
  const BlockPlan& block = plan.blocks[id];
  for (std::size_t k = 0; k < block.constraints.size(); ++k) {
    const Constraint& c = block.constraints[k];
    if (c.kind == Constraint::Kind::kSelect || (init_of && c.kind != Constraint::Kind::kDomain))
      continue;
    if (init_of && block.iters[c.iter].reduce) continue;
    if (c.kind == Constraint::Kind::kKill && (at == ir::kRoot || !may_skip(id, c, at))) continue;
    if (status(block, static_cast<int>(k)) == Status::kNever) return true;
  }
  return false;
}

bool Place::none_runs(LoopId loop, LoopId at) const {
  const auto blocks = blocks_in_view(loop);
  return std::ranges::all_of(blocks, [&](BlockId id) { return never_runs(id, at); });
}

Lin Place::digit_lin(const LoopDigit& digit) const {
  const Binding& b = bound[digit.loop];
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
      if (init_of) return lin;  // initialising leaves out reduction loops
      if (const Range r = plan.free_range(digit); r.min == 0 && r.max == 0) return lin;
      LATHE_CHECK(false, "loop {} is used before it is bound", plan.nest.loops[digit.loop].name);
  }
  return lin;
}

namespace {

std::int64_t coef_in(const Lin& lin, int var) {
  const auto found = std::ranges::find(lin.terms, var, &Lin::Term::var);
  return found == lin.terms.end() ? 0 : found->coef;
}

// Of the number of a loop, of which these are the digits, the factor with which they stand in the
// form; 0: there is none.
std::int64_t factor_of(const std::vector<Binding::Derived>& digits, const Lin& lin,
                       std::int64_t most) {
  std::int64_t factor = 0, below = 1;
  for (const Binding::Derived& digit : digits) {
    if (digit.div != below) return 0;
    below = digit.mod > 0 ? digit.div * digit.mod : most + 1;
    if (digit.var < 0) continue;
    const std::int64_t coef = coef_in(lin, digit.var);
    if (coef == 0 || coef % digit.div != 0) return 0;
    if (factor != 0 && coef != factor * digit.div) return 0;
    factor = coef / digit.div;
  }
  return below > most ? factor : 0;
}

}  // namespace

void Place::join_digits(Lin& lin) const {
  for (const Binding& b : bound) {
    if (b.kind != Binding::Kind::kDynamic || b.derived.empty()) continue;
    std::vector<Binding::Derived> digits = b.derived;
    std::ranges::sort(digits, {}, &Binding::Derived::div);
    const std::int64_t factor = factor_of(digits, lin, ranges[b.var].max);
    if (factor == 0) continue;
    for (const Binding::Derived& digit : digits)
      if (digit.var >= 0) lin.add(-factor * digit.div, digit.var);
      else lin.c -= factor * digit.div * digit.value;
    lin.add(factor, b.var);
  }
}

Lin Place::iter_lin(const BlockPlan& block, int index) const {
  Lin sum;
  sum.c = block.iters[index].offset;
  for (const LoopDigit& digit : block.iters[index].digits) sum.add(1, digit_lin(digit));
  return sum;
}

Lin Place::affine_lin(const BlockPlan& block, const std::vector<ir::AffineTerm>& terms,
                      std::int64_t offset) const {
  Lin sum;
  sum.c = offset;
  for (const auto& [i, coef] : terms) sum.add(coef, iter_lin(block, i));
  return sum;
}

std::vector<BlockId> Place::blocks_in_view(LoopId loop) const {
  std::vector<BlockId> out;
  for (const BlockId id : plan.blocks_in[loop])
    if (plan.blocks[id].live && (!init_of || *init_of == id)) out.push_back(id);
  return out;
}

}  // namespace lathe::lower
