// Which iterations of a loop matter, and how it is cut into borders and an interior where some
// read outside a tensor.
#include <algorithm>
#include <utility>

#include "compiler/lower/expand/expander.h"

namespace lathe::lower {
namespace {

constexpr int kMaxBorder = 8;  // iterations written out at either side of an interior

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

}  // namespace

// Constraints that digit (loop / div) % mod takes part in and that are open here.
std::vector<Expander::Pending> Expander::pending_at(LoopId loop, std::int64_t div,
                                                    std::int64_t mod) const {
  std::vector<Pending> out;
  for (const BlockId id : blocks_in_view(loop)) {
    const BlockPlan& plan = blocks_[id];
    for (int k = 0; k < static_cast<int>(plan.constraints.size()); ++k) {
      const Constraint& c = plan.constraints[k];
      if (proven_[id][k] != 0) continue;
      if (init_of_ && (c.kind != Constraint::Kind::kDomain || plan.iters[c.iter].reduce)) continue;
      Pending p{id, k, 0, false};
      for (const auto& term : c.terms) {
        for (const Digit& d : plan.iters[term.iter].digits) {
          if (d.loop == loop) {
            if (d.div == div && d.mod == mod) p.weight += term.coef * d.weight;
          } else if (bound_[d.loop].kind == Binding::Kind::kUnbound) {
            const Range r = free_range(d);
            p.inner |= r.min != 0 || r.max != 0;
          }
        }
      }
      if (p.weight != 0 && status(plan, k) == Status::kSometimes) out.push_back(p);
    }
  }
  return out;
}

bool Expander::rest_is_static(const BlockPlan& plan, const Constraint& c, LoopId loop,
                              std::int64_t div, std::int64_t mod) const {
  for (const auto& term : c.terms) {
    for (const Digit& d : plan.iters[term.iter].digits) {
      if (d.loop == loop && d.div == div && d.mod == mod) continue;
      if (d.loop == loop) return false;
      const Range r = digit_range(d);
      if (bound_[d.loop].kind == Binding::Kind::kDynamic && r.min != r.max) return false;
    }
  }
  return true;
}

// Whether the loop should be cut so that the constraint is decided: yes, unless its tail says
// otherwise or a loop further inside can be narrowed exactly for less code.
bool Expander::wants_partition(LoopId loop, const Pending& p) const {
  const BlockPlan& plan = blocks_[p.block];
  const Constraint& c = plan.constraints[p.constraint];
  LoopId deepest = ir::kRoot;
  bool vector_inside = false;
  for (const LoopId l : plan.path) {
    if (!inside(l, loop) || !involves(plan, c, l) || sized_.extent(l) == 1) continue;
    if (init_of_ && reduces_over(p.block, l)) continue;
    const ir::Tail tail = nest_.loops[l].tail;
    if (deepest == ir::kRoot && (tail == ir::Tail::kMask || tail == ir::Tail::kPad) &&
        !reduces_over(p.block, l))
      return false;
    deepest = l;
    vector_inside |= nest_.loops[l].kind == ir::LoopKind::kVectorized;
  }
  if (deepest == ir::kRoot || vector_inside) return true;
  if (is_guarded_inside(loop, p)) return false;
  const bool narrowable = nest_.loops[deepest].kind == ir::LoopKind::kSerial &&
                          may_skip(p.block, c, deepest) && blocks_in_view(deepest).size() == 1 &&
                          !has_fused_digit(deepest) && p.weight > 0;
  return !narrowable;
}

// Whether padding's effect on the iterations of a reduction loop can be asked when it runs: what
// inside still adds to the constraint is written out, so that a test tells the iterations that need
// no guards.
bool Expander::can_guard(LoopId loop, const Pending& p) const {
  const BlockPlan& plan = blocks_[p.block];
  const Constraint& c = plan.constraints[p.constraint];
  if (c.kind != Constraint::Kind::kKill || init_of_ || guarded_ > 0 ||
      nest_.loops[loop].kind != ir::LoopKind::kSerial)
    return false;
  if (!may_skip(p.block, c, loop) || blocks_in_view(loop).size() != 1 || has_fused_digit(loop))
    return false;
  return std::ranges::all_of(plan.path, [&](LoopId l) {
    return !inside(l, loop) || !involves(plan, c, l) || sized_.extent(l) == 1 ||
           nest_.loops[l].kind == ir::LoopKind::kUnrolled;
  });
}

// Of the tiles along a padded axis only the first and the last touch the border, in a few
// iterations of a reduction loop inside. That loop tells them apart, for less code than a copy of
// everything inside for each border. Where there are few tiles, copies are worth it: on a
// convolution of two tiles a row the tests cost 6 % of the time, of four 1 %.
bool Expander::is_guarded_inside(LoopId loop, const Pending& p) const {
  constexpr std::int64_t kFew = 4;
  const BlockPlan& plan = blocks_[p.block];
  const Constraint& c = plan.constraints[p.constraint];
  if (sized_.extent(loop) <= kFew || reduces_over(p.block, loop)) return false;
  return std::ranges::any_of(plan.path, [&](LoopId l) {
    return inside(l, loop) && reduces_over(p.block, l) && involves(plan, c, l) &&
           sized_.extent(l) > 1 && can_guard(l, p);
  });
}

// Holds in iterations in which nothing inside leaves its tensor; null where there is nothing to
// ask. `proven` holds then.
flat::Expr Expander::guard_of(LoopId loop, const std::vector<Pending>& pending,
                              std::vector<std::pair<BlockId, int>>& proven) const {
  flat::Expr all;
  for (const Pending& p : pending) {
    if (proven_[p.block][p.constraint] != 0 || !p.inner || !can_guard(loop, p)) continue;
    const BlockPlan& plan = blocks_[p.block];
    const Constraint& c = plan.constraints[p.constraint];
    Lin bound;
    Range rest{0, 0};
    bound.c = c.offset;
    for (const auto& term : c.terms) {
      bound.c += term.coef * plan.iters[term.iter].offset;
      for (const Digit& d : plan.iters[term.iter].digits) {
        if (bound_[d.loop].kind != Binding::Kind::kUnbound) {
          bound.add(term.coef, digit_lin(d));
          continue;
        }
        const Range r = free_range(d);
        rest.min += std::min(term.coef * r.min, term.coef * r.max);
        rest.max += std::max(term.coef * r.min, term.coef * r.max);
      }
    }
    if (bound.lane != 0 || bound.terms.empty()) continue;
    const Range r = range_of(bound, ranges_, 1);
    const flat::Expr value = scalar_expr(bound);
    const auto at_least = [&](const flat::Expr& a, const flat::Expr& b) {
      return flat::binary(flat::BinaryOp::kLe, b, a);
    };
    const auto both = [&](const flat::Expr& test) {
      all = all ? flat::binary(flat::BinaryOp::kAnd, all, test) : test;
    };
    if (r.min + rest.min < c.low) both(at_least(value, flat::int_imm(c.low - rest.min)));
    if (r.max + rest.max >= c.high) both(at_least(flat::int_imm(c.high - 1 - rest.max), value));
    proven.emplace_back(p.block, p.constraint);
  }
  return all;
}

// The body twice: without guards, and small and with them.
void Expander::emit_either(LoopId loop, const flat::Expr& all_inside,
                           const std::vector<std::pair<BlockId, int>>& proven) {
  for (const auto& [block, k] : proven) proven_[block][k] = 1;
  const flat::Stmt whole = capture([&] { emit_body(loop); });
  for (const auto& [block, k] : proven) proven_[block][k] = 0;
  ++guarded_, ++borders_;
  const flat::Stmt guarded = capture([&] { emit_body(loop); });
  --guarded_, --borders_;
  out_->push_back(flat::if_then(all_inside, whole, guarded));
}

std::vector<Expander::Part> Expander::parts_of(
    std::int64_t begin, std::int64_t end, const std::vector<Pending>& wanted,
    const std::function<void(std::int64_t)>& bind) const {
  const auto is_border = [&](std::int64_t v) {
    bind(v);
    return std::ranges::any_of(wanted, [&](const Pending& p) {
      return status(blocks_[p.block], p.constraint) != Status::kAlways;
    });
  };
  std::int64_t low = begin, high = end;
  while (low < high && low - begin <= kMaxBorder && is_border(low)) ++low;
  while (high > low && end - high <= kMaxBorder && is_border(high - 1)) --high;
  if (low - begin > kMaxBorder || end - high > kMaxBorder) return {{begin, end, false}};
  return {{begin, low, true}, {low, high, false}, {high, end, true}};
}

// Iterations at both ends in which no block inside runs at all, as in a block of more tiles than
// there are.
void Expander::leave_out_idle(LoopId loop, Bounds& bounds) {
  const auto blocks = blocks_in_view(loop);
  const auto idle = [&](std::int64_t v) {
    bound_[loop] = {Binding::Kind::kStatic, v};
    return std::ranges::all_of(blocks, [&](BlockId id) { return never_runs(id, loop); });
  };
  while (bounds.begin < bounds.end && idle(bounds.end - 1)) --bounds.end;
  while (bounds.begin < bounds.end && idle(bounds.begin)) ++bounds.begin;
  bound_[loop] = {};
}

// Leaves out the iterations that no block inside would run. Exact for constraints nothing further
// inside adds to.
Expander::Bounds Expander::narrow(LoopId loop, const std::vector<Pending>& pending) const {
  Bounds out{0, sized_.extent(loop), nullptr, nullptr, {}};
  if (blocks_in_view(loop).size() != 1) return out;
  for (const Pending& p : pending) {
    const BlockPlan& plan = blocks_[p.block];
    const Constraint& c = plan.constraints[p.constraint];
    if (p.inner || p.weight <= 0 || !may_skip(p.block, c, loop)) continue;
    Lin rest;
    rest.c = c.offset;
    for (const auto& term : c.terms) {
      rest.c += term.coef * plan.iters[term.iter].offset;
      for (const Digit& d : plan.iters[term.iter].digits)
        if (d.loop != loop) rest.add(term.coef, digit_lin(d));
    }
    if (rest.lane != 0) continue;
    if (rest.terms.empty()) {
      out.begin = std::max(out.begin, ceil_div(c.low - rest.c, p.weight));
      out.end = std::min(out.end, ceil_div(c.high - rest.c, p.weight));
    } else {
      // v >= ceil((low - rest) / w) and v < ceil((high - rest) / w); numerators below 0 are cut off
      // before dividing, since flat division rounds towards zero.
      const Range r = range_of(rest, ranges_, 1);
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

}  // namespace lathe::lower
