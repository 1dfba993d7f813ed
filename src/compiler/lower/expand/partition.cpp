#include "compiler/lower/expand/partition.h"

#include <algorithm>
#include <utility>

namespace lathe::lower {

namespace {

constexpr int kMaxEdge = 8;  // iterations written out on either side of an interior

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

}  // namespace

// The constraints that are open here and in which digit (loop / div) % mod takes part.
std::vector<Pending> Partitioner::pending_at(LoopId loop, std::int64_t div,
                                             std::int64_t mod) const {
  std::vector<Pending> out;
  for (const BlockId id : place_.blocks_in_view(loop)) {
    const BlockPlan& plan = plan_.blocks[id];
    for (int k = 0; k < static_cast<int>(plan.constraints.size()); ++k) {
      const Constraint& c = plan.constraints[k];
      if (place_.proven[id][k] != 0) continue;
      if (place_.init_of && (c.kind != Constraint::Kind::kDomain || plan.iters[c.iter].reduce))
        continue;
      Pending p{id, k, 0, false};
      for (const auto& term : c.terms) {
        for (const LoopDigit& d : plan.iters[term.iter].digits) {
          if (d.loop == loop) {
            if (d.div == div && d.mod == mod) p.weight += term.coef * d.weight;
          } else if (place_.bound[d.loop].kind == Binding::Kind::kUnbound) {
            const Range r = plan_.free_range(d);
            p.inner |= r.min != 0 || r.max != 0;
          }
        }
      }
      if (p.weight != 0 && place_.status(plan, k) == Status::kSometimes) out.push_back(p);
    }
  }
  return out;
}

bool Partitioner::rest_is_static(const BlockPlan& plan, const Constraint& c, LoopId loop,
                                 std::int64_t div, std::int64_t mod) const {
  for (const auto& term : c.terms) {
    for (const LoopDigit& d : plan.iters[term.iter].digits) {
      if (d.loop == loop && d.div == div && d.mod == mod) continue;
      if (d.loop == loop) return false;
      const Range r = place_.digit_range(d);
      if (place_.bound[d.loop].kind == Binding::Kind::kDynamic && r.min != r.max) return false;
    }
  }
  return true;
}

// True if the loop should be cut so that the constraint is decided: unless its tail says otherwise,
// or a loop further inside can be narrowed exactly with less code.
bool Partitioner::wants_partition(LoopId loop, const Pending& p) const {
  const BlockPlan& plan = plan_.blocks[p.block];
  const Constraint& c = plan.constraints[p.constraint];
  LoopId deepest = ir::kRoot;
  bool vector_inside = false;
  for (const LoopId l : plan.path) {
    if (!plan_.inside(l, loop) || !plan_.involves(plan, c, l) || sized_.extent(l) == 1) continue;
    if (place_.init_of && plan_.reduces_over(p.block, l)) continue;
    const ir::Tail tail = nest_.loops[l].tail;
    if (deepest == ir::kRoot && (tail == ir::Tail::kMask || tail == ir::Tail::kPad) &&
        !plan_.reduces_over(p.block, l))
      return false;
    deepest = l;
    vector_inside |= nest_.loops[l].kind == ir::LoopKind::kVectorized;
  }
  if (deepest == ir::kRoot || vector_inside) return true;
  if (is_guarded_inside(loop, p)) return false;
  const bool narrowable =
      nest_.loops[deepest].kind == ir::LoopKind::kSerial && place_.may_skip(p.block, c, deepest) &&
      place_.blocks_in_view(deepest).size() == 1 && !plan_.has_fused_digit(deepest) && p.weight > 0;
  return !narrowable;
}

// True if the code can ask at run time what padding does to iterations of a reduction loop:
// whatever inside adds to the constraint is written out, so one test finds the iterations that need
// no guards.
bool Partitioner::can_guard(LoopId loop, const Pending& p) const {
  const BlockPlan& plan = plan_.blocks[p.block];
  const Constraint& c = plan.constraints[p.constraint];
  if (c.kind != Constraint::Kind::kKill || place_.init_of || place_.guarded > 0 ||
      nest_.loops[loop].kind != ir::LoopKind::kSerial)
    return false;
  if (!place_.may_skip(p.block, c, loop) || place_.blocks_in_view(loop).size() != 1 ||
      plan_.has_fused_digit(loop))
    return false;
  return std::ranges::all_of(plan.path, [&](LoopId l) {
    return !plan_.inside(l, loop) || !plan_.involves(plan, c, l) || sized_.extent(l) == 1 ||
           nest_.loops[l].kind == ir::LoopKind::kUnrolled;
  });
}

// Among the tiles along a padded axis, only the first and the last touch the edge, in a few
// iterations of a reduction loop inside. That loop tells them apart with less code than a copy of
// everything inside for each edge. Where there are few tiles, copies are worth it: in a convolution
// with two tiles a row the tests cost 6 % of the time, with four 1 %.
bool Partitioner::is_guarded_inside(LoopId loop, const Pending& p) const {
  constexpr std::int64_t kFew = 4;
  const BlockPlan& plan = plan_.blocks[p.block];
  const Constraint& c = plan.constraints[p.constraint];
  if (sized_.extent(loop) <= kFew || plan_.reduces_over(p.block, loop)) return false;
  return std::ranges::any_of(plan.path, [&](LoopId l) {
    return plan_.inside(l, loop) && plan_.reduces_over(p.block, l) && plan_.involves(plan, c, l) &&
           sized_.extent(l) > 1 && can_guard(l, p);
  });
}

// A condition that holds in iterations in which nothing inside leaves its tensor; null: nothing to
// test. Where it holds, so does `proven`.
flat::Expr Partitioner::guard_of(LoopId loop, const std::vector<Pending>& pending,
                                 std::vector<BlockConstraint>& proven) const {
  std::vector<BlockConstraint> constraints;
  for (const Pending& p : pending)
    if (place_.proven[p.block][p.constraint] == 0 && p.inner && can_guard(loop, p))
      constraints.emplace_back(p.block, p.constraint);
  return test_of(constraints, proven);
}

// Leaves out iterations at both ends in which no block inside runs at all, e.g. in a block of more
// tiles than there are.
void Partitioner::leave_out_idle(LoopId loop, Bounds& bounds) {
  const auto idle = [&](std::int64_t v) {
    place_.bound[loop] = {Binding::Kind::kStatic, v};
    return place_.none_runs(loop, loop);
  };
  while (bounds.begin < bounds.end && idle(bounds.end - 1)) --bounds.end;
  while (bounds.begin < bounds.end && idle(bounds.begin)) ++bounds.begin;
  place_.bound[loop] = {};
}

// Leaves out iterations in which no block inside would run. It is exact for constraints to which no
// loop further inside adds.
Bounds Partitioner::narrow(LoopId loop, const std::vector<Pending>& pending) const {
  Bounds out{0, sized_.extent(loop), nullptr, nullptr, {}};
  if (place_.blocks_in_view(loop).size() != 1) return out;
  for (const Pending& p : pending) {
    const BlockPlan& plan = plan_.blocks[p.block];
    const Constraint& c = plan.constraints[p.constraint];
    if (p.inner || p.weight <= 0 || !place_.may_skip(p.block, c, loop)) continue;
    Lin rest;
    rest.c = c.offset;
    for (const auto& term : c.terms) {
      rest.c += term.coef * plan.iters[term.iter].offset;
      for (const LoopDigit& d : plan.iters[term.iter].digits)
        if (d.loop != loop) rest.add(term.coef, place_.digit_lin(d));
    }
    if (rest.lane != 0) continue;
    if (rest.terms.empty()) {
      out.begin = std::max(out.begin, ceil_div(c.low - rest.c, p.weight));
      out.end = std::min(out.end, ceil_div(c.high - rest.c, p.weight));
    } else {
      // v >= ceil((low - rest) / w) and v < ceil((high - rest) / w). Numerators below 0 are cut off
      // before the division, for flat division rounds towards zero.
      const Range r = range_of(rest, place_.ranges, 1);
      Lin negated;
      negated.add(-1, rest);
      const auto bound = [&](std::int64_t limit) {
        flat::Expr n = flat::binary(
            flat::BinaryOp::kMax,
            flat::binary(flat::BinaryOp::kAdd, scalar_expr(negated), flat::int_imm(limit)),
            flat::int_imm(0));
        if (p.weight == 1) return n;
        n = flat::binary(flat::BinaryOp::kAdd, n, flat::int_imm(p.weight - 1));
        return flat::binary(flat::BinaryOp::kDiv, n, flat::int_imm(p.weight));
      };
      if (r.min < c.low) {
        flat::Expr begin = out.dynamic_begin ? out.dynamic_begin : flat::int_imm(0);
        out.dynamic_begin = flat::binary(flat::BinaryOp::kMax, begin, bound(c.low));
      }
      if (r.max + p.weight * (sized_.extent(loop) - 1) >= c.high) {
        flat::Expr end = out.dynamic_end ? out.dynamic_end : flat::int_imm(sized_.extent(loop));
        out.dynamic_end = flat::binary(flat::BinaryOp::kMin, end, bound(c.high));
      }
    }
    out.proven.emplace_back(p.block, p.constraint);
  }
  out.end = std::max(out.begin, out.end);
  if (out.dynamic_begin && out.begin > 0)
    out.dynamic_begin =
        flat::binary(flat::BinaryOp::kMax, out.dynamic_begin, flat::int_imm(out.begin));
  if (out.dynamic_end && out.end < sized_.extent(loop))
    out.dynamic_end = flat::binary(flat::BinaryOp::kMin, out.dynamic_end, flat::int_imm(out.end));
  return out;
}

std::vector<Part> Partitioner::parts_of(std::int64_t begin, std::int64_t end,
                                        const std::vector<Pending>& wanted,
                                        const std::function<void(std::int64_t)>& bind) const {
  const auto is_edge = [&](std::int64_t v) {
    bind(v);
    return std::ranges::any_of(wanted, [&](const Pending& p) {
      return place_.status(plan_.blocks[p.block], p.constraint) != Status::kAlways;
    });
  };
  std::int64_t low = begin, high = end;
  while (low < high && low - begin <= kMaxEdge && is_edge(low)) ++low;
  while (high > low && end - high <= kMaxEdge && is_edge(high - 1)) --high;
  if (low - begin > kMaxEdge || end - high > kMaxEdge) return {{begin, end, false}};
  return {{begin, low, true}, {low, high, false}, {high, end, true}};
}

// How far the tile that starts at this iteration goes beyond the domain, if it may start earlier
// instead. It may if it is a whole tile of the only block inside, nothing else bounds it, and no
// reduction would be added to twice. 0: cut it off.
std::int64_t Partitioner::shift_of(LoopId loop, const Pending& p) const {
  const BlockPlan& plan = plan_.blocks[p.block];
  const Constraint& c = plan.constraints[p.constraint];
  if (c.kind != Constraint::Kind::kDomain || !p.inner || p.weight <= 0 ||
      plan_.blocks_in[loop].size() != 1)
    return 0;
  bool shifts = false;
  for (const LoopDigit& d : plan.iters[c.iter].digits) {
    if (!d.plain() || (d.loop != loop && !plan_.inside(d.loop, loop))) return 0;
    // Work items do not wait for each other between two tiles.
    if (plan_.grids && ir::is_concurrent(nest_.loops[d.loop].kind)) return 0;
    shifts |= d.loop != loop && nest_.loops[d.loop].tail == ir::Tail::kShift;
  }
  if (plan.init_loop == loop || (plan.init_loop != ir::kRoot && plan_.inside(loop, plan.init_loop)))
    return 0;
  for (const LoopId l : plan.path)
    if (plan_.reduces_over(p.block, l) && !plan_.inside(l, loop)) return 0;
  for (const Iter& iter : plan.iters)
    for (const LoopDigit& d : iter.digits)
      if (iter.guard && (d.loop == loop || plan_.inside(d.loop, loop))) return 0;
  const Range r = place_.constraint_range(plan, c);
  const std::int64_t beyond = r.max - c.high + 1;
  const bool whole = r.max - r.min + 1 == p.weight && r.min < c.high && r.min >= beyond;
  return shifts && whole && beyond > 0 ? beyond : 0;
}

// Those that the loop should be cut for, and can be: nothing else in them varies at run time.
std::vector<Pending> Partitioner::wanted(LoopId loop, std::int64_t div, std::int64_t mod,
                                         const std::vector<Pending>& pending) const {
  std::vector<Pending> out;
  for (const Pending& p : pending) {
    const BlockPlan& plan = plan_.blocks[p.block];
    if (place_.proven[p.block][p.constraint] == 0 &&
        rest_is_static(plan, plan.constraints[p.constraint], loop, div, mod) &&
        wants_partition(loop, p))
      out.push_back(p);
  }
  return out;
}

}  // namespace lathe::lower
