#include "compiler/lower/expand/progress.h"

#include <algorithm>

#include "compiler/lower/expand/lanes.h"

namespace lathe::lower {
namespace {

// a >= b if the range of a decides it, else the comparison.
Test at_least(const Place& place, const Lin& a, std::int64_t b) {
  const Range r = range_of(a, place.ranges, 1);
  if (r.min >= b) return {true, nullptr};
  if (r.max < b) return {false, nullptr};
  return {std::nullopt, flat::binary(flat::BinaryOp::kLe, flat::int_imm(b), scalar_expr(a))};
}

}  // namespace

Test first_test(const Place& place, const BlockPlan::Progress& progress) {
  Test test{true, nullptr};
  for (const Iter& iter : place.plan.blocks[progress.producer].iters) {
    if (!iter.reduce || iter.guard) continue;
    Lin reached;
    for (const LoopDigit& d : iter.digits)
      if (std::ranges::count(progress.loops, d.loop) > 0) reached.add(1, place.digit_lin(d));
    const Test later = at_least(place, reached, 1);
    if (later.known == true) return {false, nullptr};
    if (later.known == false) continue;
    test.known.reset();
    test.condition = both(
        test.condition, flat::binary(flat::BinaryOp::kEq, scalar_expr(reached), flat::int_imm(0)));
  }
  return test;
}

// Tests for the last iteration that adds anything: no digit could be larger, because the domain or
// the digit ends there.
Test last_test(const Place& place, const BlockPlan::Progress& progress) {
  Test test{true, nullptr};
  for (const Iter& iter : place.plan.blocks[progress.producer].iters) {
    if (!iter.reduce || iter.guard) continue;
    std::vector<LoopDigit> digits;
    for (const LoopDigit& d : iter.digits)
      if (std::ranges::count(progress.loops, d.loop) > 0) digits.push_back(d);
    std::ranges::stable_sort(
        digits, [](const LoopDigit& a, const LoopDigit& b) { return a.weight > b.weight; });
    Lin reached;
    for (const LoopDigit& d : digits) {
      const Lin digit = place.digit_lin(d);
      reached.add(1, digit);
      const Test beyond = at_least(place, reached, iter.extent - d.weight);
      const Test full = at_least(place, digit, place.plan.free_range(d).max);
      if (beyond.known == true || full.known == true) continue;
      if (beyond.known == false && full.known == false) return {false, nullptr};
      test.known.reset();
      flat::Expr either = beyond.condition ? beyond.condition : full.condition;
      if (beyond.condition && full.condition)
        either = flat::binary(flat::BinaryOp::kOr, beyond.condition, full.condition);
      test.condition = both(test.condition, either);
    }
  }
  return test;
}

}  // namespace lathe::lower
