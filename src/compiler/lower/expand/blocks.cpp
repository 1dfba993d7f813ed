#include <algorithm>
#include <cmath>

#include "compiler/analysis/scans.h"
#include "compiler/lower/expand/block_emitter.h"
#include "compiler/lower/expand/lanes.h"
#include "compiler/lower/expand/operations.h"
#include "compiler/lower/expand/progress.h"

namespace lathe::lower {

namespace {

flat::BinaryOp reduce_op(ir::ReduceOp op) {
  switch (op) {
    case ir::ReduceOp::kMax: return flat::BinaryOp::kMax;
    case ir::ReduceOp::kMin: return flat::BinaryOp::kMin;
    case ir::ReduceOp::kProd: return flat::BinaryOp::kMul;
    case ir::ReduceOp::kSum:
    case ir::ReduceOp::kNone: break;
  }
  return flat::BinaryOp::kAdd;
}

// What changes nothing, not even the sign of a zero. (Code generation for AVX-512 brings lanes to
// their places beside zeros by vexpandps, which takes several times as long as vpermt2ps.)
flat::Expr nothing_for(ir::ReduceOp op, Dtype dtype) {
  const bool sum = op == ir::ReduceOp::kSum && is_float(dtype);
  return flat::imm(sum ? -0.0 : ir::identity_of(op, dtype), {dtype, 1});
}

// Lane l: x[l] + factor * (x[l - 1] + factor * (...)).
flat::Expr filtered(double factor, flat::Expr x) {
  const flat::Type type = x->type;
  const flat::Expr none = nothing_for(ir::ReduceOp::kSum, type.dtype);
  for (int by = 1; by < type.lanes; by *= 2) {
    const flat::Expr earlier = flat::slide(x, -by, type.lanes, none);
    x = flat::fma(flat::imm(std::pow(factor, by), type), earlier, x);
  }
  return x;
}

// Lane l: factor to the power of l + 1. Code generation makes a constant of it.
flat::Expr powers_of(double factor, flat::Type type) {
  flat::Expr all = flat::imm(1, type);
  const flat::Type index{Dtype::kI64, type.lanes};
  for (int bit = 1; bit <= type.lanes; bit *= 2) {
    const flat::Expr has = flat::binary(
        flat::BinaryOp::kNe,
        flat::binary(flat::BinaryOp::kBitAnd, flat::ramp(flat::int_imm(1), 1, type.lanes),
                     flat::imm(bit, index)),
        flat::imm(0, index));
    all =
        flat::binary(flat::BinaryOp::kMul, all,
                     flat::select(has, flat::imm(std::pow(factor, bit), type), flat::imm(1, type)));
  }
  return all;
}

// low <= lin < high. Tests only the sides that `range` leaves open.
flat::Expr in_bounds(const Lin& lin, std::int64_t low, std::int64_t high, Range range, int lanes) {
  const flat::Expr value = vector_expr(lin, lanes);
  const flat::Type type{Dtype::kI64, value->type.lanes};
  flat::Expr test;
  if (range.min < low)
    test = flat::binary(flat::BinaryOp::kLe, flat::imm(static_cast<double>(low), type), value);
  if (range.max >= high)
    test = both(
        test, flat::binary(flat::BinaryOp::kLt, value, flat::imm(static_cast<double>(high), type)));
  return test ? test : flat::imm(1, {Dtype::kBool, value->type.lanes});
}

// True if all lanes are inside of the bounds, or none is: both end where vectors do.
bool same_for_lanes(const Lin& lin, std::int64_t low, std::int64_t high, int lanes) {
  const std::int64_t vector = lin.lane * lanes;
  return lin.lane > 0 && lin.c % vector == 0 && low % vector == 0 && high % vector == 0 &&
         std::ranges::all_of(lin.terms,
                             [&](const Lin::Term& term) { return term.coef % vector == 0; });
}

}  // namespace

flat::BinaryOp BlockEmitter::operation_of(const ir::Block& block) {
  return reduce_op(block.reduce);
}

// The lanes of an instance that are stored in the end: only they have partial results.
flat::Expr BlockEmitter::stored_lanes(const Instance& at) {
  return both(at.loads_condition, at.mask);
}

flat::Expr BlockEmitter::condition_of(const BlockPlan& plan, const Constraint& c, int lanes) const {
  Lin lin = place_.affine_lin(plan, c.terms, c.offset);
  // Where masks are branches, one is better than one for each lane.
  if (plan_.grids && same_for_lanes(lin, c.low, c.high, lanes)) lin.lane = 0;
  return in_bounds(lin, c.low, c.high, place_.constraint_range(plan, c), lanes);
}

bool BlockEmitter::prepare_instance(Instance& at) const {
  const BlockPlan& plan = *at.plan;
  for (const Iter& iter : plan.iters)
    for (const LoopDigit& d : iter.digits)
      if (place_.bound[d.loop].kind == Binding::Kind::kLane) {
        at.lanes = place_.lanes;
        at.across = plan_.reduces_over(at.id, d.loop);
      }
  const bool to_register = plan_.storage[nest_.blocks[at.id].writes].is_register;
  for (int k = 0; k < static_cast<int>(plan.constraints.size()); ++k) {
    const Constraint& c = plan.constraints[k];
    const bool kills =
        c.kind == Constraint::Kind::kKill && plan.init_loop != ir::kRoot && !at.keeps_pads;
    if (place_.proven[at.id][k] != 0) continue;
    const bool domain = c.kind == Constraint::Kind::kDomain;
    if (place_.init_of && (!domain || plan.iters[c.iter].reduce)) continue;
    const Status s = place_.status(plan, k);
    if (s == Status::kAlways) continue;
    if (s == Status::kNever) {
      // A killed iteration may be left out only where the initialisation is a statement of its own.
      if (domain || kills) return false;
      at.read_conditions[c.read] = flat::imm(0, {Dtype::kBool, 1});
      continue;
    }
    const flat::Expr condition = condition_of(plan, c, at.lanes);
    if (place_.guarded > 0 && kills && condition->type.lanes == 1) {
      at.condition = both(at.condition, condition);
    } else if (!domain) {
      auto& known = at.read_conditions[c.read];
      if (!known || !flat::is_imm(known, 0)) known = both(known, condition);
    } else if (condition->type.lanes > 1) {
      at.mask = both(at.mask, condition);
      if (plan.iters[c.iter].reduce) at.adding = both(at.adding, condition);
    } else if (to_register && !plan.iters[c.iter].reduce) {
      at.loads_condition = both(at.loads_condition, condition);
    } else {
      at.condition = both(at.condition, condition);
    }
  }
  return true;
}

void BlockEmitter::emit_guarded(const Instance& at, const flat::Stmt& stmt) {
  code_.out->push_back(at.condition ? flat::if_then(at.condition, stmt) : stmt);
}

void BlockEmitter::emit_block(BlockId id) {
  if (!plan_.blocks[id].live) return;
  if (place_.init_of) {
    if (*place_.init_of == id) emit_init(id);
    return;
  }
  const ir::Block& block = nest_.blocks[id];
  Instance at{id, &plan_.blocks[id]};
  if (!prepare_instance(at)) return;
  for (const auto& progress : at.plan->only_in_last) {
    const Test last = last_test(place_, progress);
    if (last.known == false) return;
    at.condition = both(at.condition, last.condition);
  }
  if (!at.plan->never_in_last.loops.empty()) {
    // Leaves out the write-back only where this is known: an iteration that adds nothing may follow
    // the last, and would reload the partial result.
    if (last_test(place_, at.plan->never_in_last).known == true) return;
  }
  if (at.lanes > 1 && emit_scanned_lanes(at)) return;
  flat::Stmt stmt = code_.capture([&] {
    if (block.reduce != ir::ReduceOp::kNone) emit_accumulate(at);
    else if (!emit_copy(at)) emit_write(at, block.writes, translate(at, block.body));
  });
  emit_guarded(at, stmt);
}

// Of a scan whose lanes lie along its axis: the scan of the vector alone, in a register, and with
// it what is before its first lane. False: the block is none.
bool BlockEmitter::emit_scanned_lanes(const Instance& at) {
  const ir::Block& block = nest_.blocks[at.id];
  if (!analysis::is_scan(block) || place_.bound[block.parent].kind != Binding::Kind::kLane ||
      !analysis::is_scan_loop(block, block.parent))
    return false;
  const auto scan = analysis::any_order_scan(block);
  LATHE_CHECK(scan, "{} is vectorized along its axis, but is no scan in any order", block.name);
  Place first = place_;
  first.bound[block.parent] = {Binding::Kind::kStatic, 0};
  first.lanes = 1;
  BlockEmitter leader(plan_, first, code_, limits_);
  leader.set_state(state_);
  Instance lane{at.id, at.plan};
  if (!leader.prepare_instance(lane)) return true;
  const flat::Stmt stmt = code_.capture([&] {
    const flat::Expr before = widen(leader.translate(lane, scan->before), at.lanes);
    set_state(leader.state());
    const flat::Expr terms = widen(translate(at, scan->terms), at.lanes);
    const auto reg = static_cast<int>(code_.program.regs.size());
    code_.program.regs.push_back(terms->type);
    const flat::Expr alone = flat::reg_read(reg, terms->type);
    if (scan->factor == 1) {
      const ir::ReduceOp reduction = analysis::reduction_by(scan->op);
      const flat::BinaryOp op = reduce_op(reduction);
      const flat::Expr start = nothing_for(reduction, block.body->dtype);
      code_.out->push_back(flat::reg_write(reg, flat::prefix(op, terms, start)));
      emit_write(at, block.writes, flat::binary(op, before, alone));
    } else {
      code_.out->push_back(flat::reg_write(reg, filtered(scan->factor, terms)));
      emit_write(at, block.writes, flat::fma(powers_of(scan->factor, terms->type), before, alone));
    }
  });
  Instance guarded = at;
  guarded.condition = both(at.condition, lane.condition);
  emit_guarded(guarded, stmt);
  return true;
}

// before (op) body; a sum of products becomes multiply-adds.
flat::Expr BlockEmitter::accumulated(const Instance& at, const flat::Expr& before) {
  const ir::Block& block = nest_.blocks[at.id];
  const auto* product = std::get_if<ir::Binary>(&block.body->value);
  if (block.reduce == ir::ReduceOp::kSum && is_float(block.body->dtype) && product != nullptr &&
      product->op == ir::BinaryOp::kMul) {
    flat::Expr a = translate(at, product->a), b = translate(at, product->b);
    const int lanes = std::max({a->type.lanes, b->type.lanes, before->type.lanes});
    return flat::fma(widen(a, lanes), widen(b, lanes), widen(before, lanes));
  }
  flat::Expr value = translate(at, block.body);
  const int lanes = std::max(value->type.lanes, before->type.lanes);
  return flat::binary(reduce_op(block.reduce), widen(before, lanes), widen(value, lanes));
}

// True if the reduction starts with these lanes, and ends with them (Emitter::starts_with_lanes).
bool BlockEmitter::starts_here(const Instance& at) const {
  const BlockPlan& plan = *at.plan;
  return at.across && plan.resumed_over.empty() && plan.init_loop != ir::kRoot &&
         place_.bound[plan.init_loop].kind == Binding::Kind::kLane && place_.always_runs(at.id);
}

// All lanes of the body in one.
flat::Expr BlockEmitter::across_lanes(const Instance& at) {
  const ir::Block& block = nest_.blocks[at.id];
  flat::Expr lanes = widen(translate(at, block.body), at.lanes);
  if (at.adding)
    lanes = flat::select(widen(at.adding, at.lanes), lanes,
                         flat::imm(ir::identity_of(block.reduce, block.body->dtype), lanes->type));
  return flat::reduce(reduce_op(block.reduce), std::move(lanes));
}

void BlockEmitter::emit_accumulate(const Instance& at) {
  const ir::Block& block = nest_.blocks[at.id];
  const Dtype dtype = block.body->dtype;
  if (starts_here(at)) return emit_write(at, block.writes, across_lanes(at));
  flat::Expr before;
  if (at.plan->init_loop != ir::kRoot) {
    before = flat::cast(read_element(at, block.writes, block.index, nullptr, 0), dtype);
  } else {
    // All reduction loops are outside the result's storage, or there are none: the reduction starts
    // here.
    const flat::Expr identity = flat::imm(ir::identity_of(block.reduce, dtype), {dtype, 1});
    const Test first = at.plan->resumed_over.empty()
                           ? Test{true, nullptr}
                           : first_test(place_, {at.id, at.plan->resumed_over});
    if (first.known == true) {
      before = identity;
    } else {
      flat::Expr again = stored_lanes(at);  // lanes that have a partial result to go on from
      if (!first.known) again = both(again, flat::unary(ir::UnaryOp::kNot, first.condition));
      const double nothing = ir::identity_of(block.reduce, dtype);
      before = flat::cast(
          read_element(at, nest_.buffers[block.writes].cache_of, block.index, again, nothing),
          dtype);
    }
  }
  flat::Expr after = at.across ? flat::binary(reduce_op(block.reduce), before, across_lanes(at))
                               : accumulated(at, before);
  // A mask keeps lanes out of a store, but a register is written as a whole.
  if (at.adding && !at.across && plan_.storage[block.writes].is_register) {
    const int lanes = std::max(at.adding->type.lanes, after->type.lanes);
    after = flat::select(widen(at.adding, lanes), widen(after, lanes), widen(before, lanes));
  }
  emit_write(at, block.writes, std::move(after));
}

void BlockEmitter::emit_init(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  Instance at{id, &plan_.blocks[id]};
  if (!prepare_instance(at)) return;
  const Dtype dtype = block.body->dtype;
  const auto identity = [&] {
    emit_write(at, block.writes,
               flat::imm(ir::identity_of(block.reduce, dtype), {dtype, at.lanes}));
  };
  const auto reload = [&] {
    const BufferId from = nest_.buffers[block.writes].cache_of;
    flat::Expr partial = read_element(at, from, block.index, stored_lanes(at), 0);
    emit_write(at, block.writes, widen(flat::cast(std::move(partial), dtype), at.lanes));
  };
  const Test first = at.plan->resumed_over.empty()
                         ? Test{true, nullptr}
                         : first_test(place_, {id, at.plan->resumed_over});
  flat::Stmt stmt;
  if (first.known) stmt = code_.capture([&] { *first.known ? identity() : reload(); });
  else stmt = flat::if_then(first.condition, code_.capture(identity), code_.capture(reload));
  emit_guarded(at, stmt);
}

// A Select by an InRange: what it would read outside the range must not be loaded.
flat::Expr BlockEmitter::chosen(const Instance& at, const ir::Select& choice) {
  const auto found = at.read_conditions.find(&choice);
  if (found == at.read_conditions.end()) return translate(at, choice.then);
  const flat::Expr& inside = found->second;
  if (flat::is_imm(inside, 0)) return translate(at, choice.otherwise);
  Instance within = at;
  within.reached = both(at.reached, inside);
  flat::Expr then = translate(within, choice.then), otherwise = translate(at, choice.otherwise);
  const int lanes = std::max({inside->type.lanes, then->type.lanes, otherwise->type.lanes});
  return flat::select(widen(inside, lanes), widen(then, lanes), widen(otherwise, lanes));
}

flat::Expr BlockEmitter::translate(const Instance& at, const ir::Expr& e) {
  struct Visitor {
    BlockEmitter& self;
    const Instance& at;
    const ir::Expr& e;
    flat::Expr operator()(const ir::Const& n) const { return flat::imm(n.value, {e->dtype, 1}); }
    flat::Expr operator()(const ir::IterValue& n) const {
      return vector_expr(self.place_.iter_lin(*at.plan, n.iter), at.lanes);
    }
    flat::Expr operator()(const ir::Read& n) const {
      const auto found = at.read_conditions.find(&n);
      flat::Expr inside = found == at.read_conditions.end() ? nullptr : found->second;
      return self.read_element(at, n.tensor, n.index, both(at.reached, inside), n.pad.value_or(0));
    }
    flat::Expr operator()(const ir::Lookup& n) const { return self.lookup_element(at, n); }
    flat::Expr operator()(const ir::Unary& n) const {
      return flat_operation(n.op, self.translate(at, n.x));
    }
    flat::Expr operator()(const ir::Binary& n) const {
      flat::Expr a = self.translate(at, n.a), b = self.translate(at, n.b);
      const int lanes = std::max(a->type.lanes, b->type.lanes);
      return flat_operation(n.op, widen(a, lanes), widen(b, lanes));
    }
    flat::Expr operator()(const ir::Select& n) const {
      if (std::holds_alternative<ir::InRange>(n.condition->value)) return self.chosen(at, n);
      flat::Expr c = self.translate(at, n.condition), t = self.translate(at, n.then),
                 o = self.translate(at, n.otherwise);
      const int lanes = std::max({c->type.lanes, t->type.lanes, o->type.lanes});
      return flat::select(widen(c, lanes), widen(t, lanes), widen(o, lanes));
    }
    flat::Expr operator()(const ir::Cast& n) const {
      return flat::cast(self.translate(at, n.x), e->dtype);
    }
    flat::Expr operator()(const ir::InRange& n) const {
      flat::Expr all;
      for (const auto& row : n.rows) {
        const Lin lin = self.place_.affine_lin(*at.plan, row.index.terms, row.index.offset);
        const Range r = range_of(lin, self.place_.ranges, at.lanes);
        if (r.min >= row.low && r.max < row.high) continue;
        all = both(all, in_bounds(lin, row.low, row.high, r, at.lanes));
      }
      return all ? all : flat::imm(1, {Dtype::kBool, 1});
    }
  };
  return std::visit(Visitor{*this, at, e}, e->value);
}

}  // namespace lathe::lower
