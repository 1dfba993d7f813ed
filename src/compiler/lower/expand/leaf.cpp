// Blocks: what one iteration computes, reads and writes where it is emitted.
#include <algorithm>

#include "compiler/lower/expand/expander.h"

namespace lathe::lower {
namespace {

flat::Expr widen(const flat::Expr& e, int lanes) { return e->type.lanes == lanes ? e : flat::broadcast(e, lanes); }

flat::Expr both(const flat::Expr& a, const flat::Expr& b) {
  if (!a || !b) return a ? a : b;
  const int lanes = std::max(a->type.lanes, b->type.lanes);
  return flat::binary(flat::BinaryOp::kAnd, widen(a, lanes), widen(b, lanes));
}

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

// low <= lin < high, testing only the sides that `range` leaves open.
flat::Expr in_bounds(const Lin& lin, std::int64_t low, std::int64_t high, Range range, int lanes) {
  const flat::Expr value = vector_expr(lin, lanes);
  const flat::Type type{Dtype::kI64, value->type.lanes};
  flat::Expr test;
  if (range.min < low) test = flat::binary(flat::BinaryOp::kLe, flat::imm(static_cast<double>(low), type), value);
  if (range.max >= high)
    test = both(test, flat::binary(flat::BinaryOp::kLt, value, flat::imm(static_cast<double>(high), type)));
  return test ? test : flat::imm(1, {Dtype::kBool, value->type.lanes});
}

}  // namespace

// What of an instance is stored in the end: partial results exist only there.
flat::Expr Expander::stored_lanes(const Instance& at) { return both(at.loads_condition, at.mask); }

flat::Expr Expander::condition_of(const BlockPlan& plan, const Constraint& c, int lanes) const {
  return in_bounds(affine_lin(plan, c.terms, c.offset), c.low, c.high, constraint_range(plan, c), lanes);
}

// Whether a >= b for what a form can be, else the comparison.
Expander::Test Expander::at_least(const Lin& a, std::int64_t b) const {
  const Range r = range_of(a, ranges_, 1);
  if (r.min >= b) return {true, nullptr};
  if (r.max < b) return {false, nullptr};
  return {std::nullopt, flat::binary(flat::BinaryOp::kLe, flat::int_imm(b), scalar_expr(a))};
}

Expander::Test Expander::first_test(const BlockPlan::Progress& progress) const {
  Test test{true, nullptr};
  for (const Iter& iter : blocks_[progress.producer].iters) {
    if (!iter.reduce || iter.guard) continue;
    Lin reached;
    for (const Digit& d : iter.digits)
      if (std::ranges::count(progress.loops, d.loop) > 0) reached.add(1, digit_lin(d));
    const Test later = at_least(reached, 1);
    if (later.known == true) return {false, nullptr};
    if (later.known == false) continue;
    test.known.reset();
    test.condition = both(test.condition, flat::binary(flat::BinaryOp::kEq, scalar_expr(reached), flat::int_imm(0)));
  }
  return test;
}

// The last iteration that adds anything: no digit could be larger, be it that the domain or the digit ends there.
Expander::Test Expander::last_test(const BlockPlan::Progress& progress) const {
  Test test{true, nullptr};
  for (const Iter& iter : blocks_[progress.producer].iters) {
    if (!iter.reduce || iter.guard) continue;
    std::vector<Digit> digits;
    for (const Digit& d : iter.digits)
      if (std::ranges::count(progress.loops, d.loop) > 0) digits.push_back(d);
    std::ranges::stable_sort(digits, [](const Digit& a, const Digit& b) { return a.weight > b.weight; });
    Lin reached;
    for (const Digit& d : digits) {
      const Lin digit = digit_lin(d);
      reached.add(1, digit);
      const Test beyond = at_least(reached, iter.extent - d.weight);
      const Test full = at_least(digit, free_range(d).max);
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

// False: the block does not run here.
bool Expander::prepare_instance(Instance& at) const {
  const BlockPlan& plan = *at.plan;
  for (const Iter& iter : plan.iters)
    for (const Digit& d : iter.digits)
      if (bound_[d.loop].kind == Binding::Kind::kLane) at.lanes = lanes_;
  const bool to_register = storage_[nest_.blocks[at.id].writes].is_register;
  for (int k = 0; k < static_cast<int>(plan.constraints.size()); ++k) {
    const Constraint& c = plan.constraints[k];
    if (proven_[at.id][k] != 0) continue;
    const bool domain = c.kind == Constraint::Kind::kDomain;
    if (init_of_ && (!domain || plan.iters[c.iter].reduce)) continue;
    const Status s = status(plan, k);
    if (s == Status::kAlways) continue;
    if (s == Status::kNever) {
      // Only where the initialisation is a statement of its own may a killed iteration be left out.
      if (domain || (c.kind == Constraint::Kind::kKill && plan.init_loop != ir::kRoot)) return false;
      at.read_conditions[c.read] = flat::imm(0, {Dtype::kBool, 1});
      continue;
    }
    const flat::Expr condition = condition_of(plan, c, at.lanes);
    if (!domain) {
      auto& known = at.read_conditions[c.read];
      if (!known || !flat::is_imm(known, 0)) known = both(known, condition);
    } else if (condition->type.lanes > 1) {
      at.mask = both(at.mask, condition);
    } else if (to_register && !plan.iters[c.iter].reduce) {
      at.loads_condition = both(at.loads_condition, condition);
    } else {
      at.condition = both(at.condition, condition);
    }
  }
  return true;
}

void Expander::emit_guarded(const Instance& at, const flat::Stmt& stmt) {
  out_->push_back(at.condition ? flat::if_then(at.condition, stmt) : stmt);
}

void Expander::emit_block(BlockId id) {
  if (!blocks_[id].live) return;
  if (init_of_) {
    if (*init_of_ == id) emit_init(id);
    return;
  }
  const ir::Block& block = nest_.blocks[id];
  Instance at{id, &blocks_[id]};
  if (!prepare_instance(at)) return;
  for (const auto& progress : at.plan->only_in_last) {
    const Test last = last_test(progress);
    if (last.known == false) return;
    at.condition = both(at.condition, last.condition);
  }
  if (!at.plan->never_in_last.loops.empty()) {
    // Only where that is known: an iteration that adds nothing may follow the last, and would reload what is here.
    if (last_test(at.plan->never_in_last).known == true) return;
  }
  flat::Stmt stmt = capture([&] {
    if (block.reduce == ir::ReduceOp::kNone)
      emit_write(at, block.writes, translate(at, block.body));
    else
      emit_accumulate(at);
  });
  emit_guarded(at, stmt);
}

// before (op) body, a sum of products fused.
flat::Expr Expander::accumulated(const Instance& at, const flat::Expr& before) {
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

void Expander::emit_accumulate(const Instance& at) {
  const ir::Block& block = nest_.blocks[at.id];
  const Dtype dtype = block.body->dtype;
  const auto current = [&](BufferId buffer) {
    const flat::Expr lanes = buffer == block.writes ? nullptr : stored_lanes(at);
    return flat::cast(read_element(at, buffer, block.index, lanes, 0), dtype);
  };
  flat::Expr before;
  if (at.plan->init_loop != ir::kRoot) {
    before = current(block.writes);
  } else {
    // All reduction loops are outside the result's storage (or there are none): start here.
    const flat::Expr identity = flat::imm(ir::identity_of(block.reduce, dtype), {dtype, 1});
    const Test first = at.plan->resumed_over.empty() ? Test{true, nullptr} : first_test({at.id, at.plan->resumed_over});
    if (first.known == true) {
      before = identity;
    } else {
      before = current(nest_.buffers[block.writes].cache_of);
      if (!first.known)
        before = flat::select(widen(first.condition, before->type.lanes), widen(identity, before->type.lanes), before);
    }
  }
  emit_write(at, block.writes, accumulated(at, before));
}

void Expander::emit_init(BlockId id) {
  const ir::Block& block = nest_.blocks[id];
  Instance at{id, &blocks_[id]};
  if (!prepare_instance(at)) return;
  const Dtype dtype = block.body->dtype;
  const auto identity = [&] {
    emit_write(at, block.writes, flat::imm(ir::identity_of(block.reduce, dtype), {dtype, at.lanes}));
  };
  const auto reload = [&] {
    const BufferId from = nest_.buffers[block.writes].cache_of;
    flat::Expr partial = read_element(at, from, block.index, stored_lanes(at), 0);
    emit_write(at, block.writes, widen(flat::cast(std::move(partial), dtype), at.lanes));
  };
  const Test first = at.plan->resumed_over.empty() ? Test{true, nullptr} : first_test({id, at.plan->resumed_over});
  flat::Stmt stmt;
  if (first.known)
    stmt = capture([&] { *first.known ? identity() : reload(); });
  else
    stmt = flat::if_then(first.condition, capture(identity), capture(reload));
  emit_guarded(at, stmt);
}

flat::Expr Expander::translate(const Instance& at, const ir::Expr& e) {
  struct Visitor {
    Expander& self;
    const Instance& at;
    const ir::Expr& e;
    flat::Expr operator()(const ir::Const& n) const { return flat::imm(n.value, {e->dtype, 1}); }
    flat::Expr operator()(const ir::IterValue& n) const { return vector_expr(self.iter_lin(*at.plan, n.iter), at.lanes); }
    flat::Expr operator()(const ir::Read& n) const {
      const auto found = at.read_conditions.find(&n);
      return self.read_element(at, n.tensor, n.index, found == at.read_conditions.end() ? nullptr : found->second,
                               n.pad.value_or(0));
    }
    flat::Expr operator()(const ir::Unary& n) const { return flat::unary(n.op, self.translate(at, n.x)); }
    flat::Expr operator()(const ir::Binary& n) const {
      flat::Expr a = self.translate(at, n.a), b = self.translate(at, n.b);
      const int lanes = std::max(a->type.lanes, b->type.lanes);
      return flat::binary(static_cast<flat::BinaryOp>(n.op), widen(a, lanes), widen(b, lanes));
    }
    flat::Expr operator()(const ir::Select& n) const {
      flat::Expr c = self.translate(at, n.condition), t = self.translate(at, n.then), o = self.translate(at, n.otherwise);
      const int lanes = std::max({c->type.lanes, t->type.lanes, o->type.lanes});
      return flat::select(widen(c, lanes), widen(t, lanes), widen(o, lanes));
    }
    flat::Expr operator()(const ir::Cast& n) const { return flat::cast(self.translate(at, n.x), e->dtype); }
    flat::Expr operator()(const ir::InRange& n) const {
      flat::Expr all;
      for (const auto& row : n.rows) {
        const Lin lin = self.affine_lin(*at.plan, row.index.terms, row.index.offset);
        const Range r = range_of(lin, self.ranges_, at.lanes);
        if (r.min >= row.low && r.max < row.high) continue;
        all = both(all, in_bounds(lin, row.low, row.high, r, at.lanes));
      }
      return all ? all : flat::imm(1, {Dtype::kBool, 1});
    }
  };
  static_assert(static_cast<int>(flat::BinaryOp::kOr) == static_cast<int>(ir::BinaryOp::kOr));
  return std::visit(Visitor{*this, at, e}, e->value);
}

// (coordinate / weight) % (modulus / weight) as a linear form, where its terms fall apart cleanly.
bool Expander::separate(const Lin& coordinate, const StorageDigit& digit, int lanes, Lin& out) const {
  const std::int64_t w = digit.weight, m = digit.modulus;
  Lin low, mid;
  out = {};
  const auto place = [&](std::int64_t coef, auto&& add) {
    if (m > 0 && coef % m == 0) return;
    add(coef % w == 0 ? mid : low, coef);
  };
  for (const auto& [var, coef] : coordinate.terms) place(coef, [&](Lin& part, std::int64_t k) { part.add(k, var); });
  place(coordinate.lane, [](Lin& part, std::int64_t k) { part.lane += k; });
  std::int64_t c = coordinate.c;
  if (m > 0) c = ((c % m) + m) % m;
  const std::int64_t c_low = ((c % w) + w) % w;
  low.c = c_low;
  mid.c = c - c_low;
  const Range l = range_of(low, ranges_, lanes);
  if (l.min < 0 || l.max >= w) return false;
  if (m > 0) {
    const Range r = range_of(mid, ranges_, lanes);
    if (r.min < 0 || r.max + l.max >= m) return false;
  }
  out.c = mid.c / w;
  out.lane = mid.lane / w;
  for (const auto& [var, coef] : mid.terms) out.add(coef / w, var);
  return true;
}

Expander::Address Expander::address(const Instance& at, BufferId buffer, const std::vector<ir::Affine>& index) const {
  const Storage& storage = storage_[buffer];
  std::vector<Lin> coordinates;
  for (std::size_t d = 0; d < index.size(); ++d) {
    Lin lin = affine_lin(*at.plan, index[d].terms, index[d].offset - storage.start[d].offset);
    for (const Digit& digit : storage.start[d].digits) lin.add(-1, digit_lin(digit));
    coordinates.push_back(std::move(lin));
  }
  Lin offset;
  flat::Expr awkward;  // digits that need a real division
  bool varies = false;
  for (const StorageDigit& digit : storage.digits) {
    const Lin& coordinate = coordinates[digit.dim];
    Lin part;
    if (separate(coordinate, digit, at.lanes, part)) {
      offset.add(digit.stride, part);
      continue;
    }
    flat::Expr value = vector_expr(coordinate, at.lanes);
    const flat::Type type = value->type;
    const auto number = [&](std::int64_t v) { return flat::imm(static_cast<double>(v), type); };
    if (digit.modulus > 0) value = flat::binary(flat::BinaryOp::kMod, value, number(digit.modulus));
    value = flat::binary(flat::BinaryOp::kDiv, value, number(digit.weight));
    value = flat::binary(flat::BinaryOp::kMul, value, number(digit.stride));
    varies |= type.lanes > 1;
    if (awkward) {
      const int lanes = std::max(awkward->type.lanes, value->type.lanes);
      value = flat::binary(flat::BinaryOp::kAdd, widen(awkward, lanes), widen(value, lanes));
    }
    awkward = value;
  }
  Address out;
  const Range r = range_of(offset, ranges_, at.lanes);
  out.inside = !awkward && r.min >= 0 && r.max < storage.size;
  if (!awkward) {
    out.uniform = offset.lane == 0;
    if (offset.terms.empty()) out.fixed = offset.c;
    out.is_vector = offset.lane != 0 && offset.lane != 1;
    out.index = out.is_vector ? vector_expr(offset, at.lanes) : scalar_expr(offset);
    return out;
  }
  out.uniform = !varies && offset.lane == 0;
  out.is_vector = !out.uniform;
  const flat::Expr rest = vector_expr(offset, at.lanes);
  const int lanes = std::max(rest->type.lanes, awkward->type.lanes);
  out.index = flat::binary(flat::BinaryOp::kAdd, widen(awkward, lanes), widen(rest, lanes));
  return out;
}

int Expander::register_of(BufferId buffer, std::int64_t offset, flat::Type type) {
  const auto [it, made] = registers_.try_emplace({buffer, offset}, static_cast<int>(program_.regs.size()));
  if (made) program_.regs.push_back(type);
  if (program_.regs[it->second] != type)
    refuse(ErrorKind::kIllegalSchedule,
           "the register tile {} is used with {} lanes in one place and {} in another: vectorize all its loops alike",
           nest_.buffers[buffer].name, program_.regs[it->second].lanes, type.lanes);
  return it->second;
}

// The mask of a load: what must hold for its lanes to be touched at all.
flat::Expr Expander::lower_mask(const Instance& at, const Address& address, const flat::Expr& condition) const {
  flat::Expr mask = condition;
  if (!address.inside) {
    mask = both(mask, at.loads_condition);
    if (!address.uniform) mask = both(mask, at.mask);
  }
  return mask;
}

flat::Expr Expander::read_element(const Instance& at, BufferId buffer, const std::vector<ir::Affine>& index,
                                  const flat::Expr& condition, double pad) {
  const Dtype dtype = nest_.buffers[buffer].dtype;
  if (condition && flat::is_imm(condition, 0)) return flat::imm(pad, {dtype, 1});
  if (++nodes_ > limits_.max_nodes)
    refuse(ErrorKind::kIllegalSchedule, "the unrolled program has more than {} reads: unroll less", limits_.max_nodes);
  const Address where = address(at, buffer, index);
  if (storage_[buffer].is_register) {
    if (!where.fixed || where.is_vector)
      refuse(ErrorKind::kIllegalSchedule, "{} is in registers, so every loop that indexes it must be unrolled or vectorized",
             nest_.buffers[buffer].name);
    const auto found = registers_.find({buffer, *where.fixed});
    if (found == registers_.end())
      refuse(ErrorKind::kIllegalSchedule, "{} reads an element of the register tile {} before it is written",
             nest_.blocks[at.id].name, nest_.buffers[buffer].name);
    const flat::Type type = program_.regs[found->second];
    if (type.lanes != (where.uniform ? 1 : at.lanes)) register_of(buffer, *where.fixed, {type.dtype, where.uniform ? 1 : at.lanes});
    return flat::reg_read(found->second, type);
  }
  const int lanes = where.uniform ? 1 : at.lanes;
  flat::Expr mask = lower_mask(at, where, condition);
  const flat::Expr scalar_mask = mask;
  if (mask && mask->type.lanes < lanes) mask = flat::broadcast(mask, lanes);
  if (mask && mask->type.lanes > lanes) mask = nullptr;  // the same element for every lane: see below
  const int load_lanes = mask == nullptr && scalar_mask ? scalar_mask->type.lanes : lanes;
  flat::Expr at_index = where.index;
  if (load_lanes > lanes) {  // lanes differ in whether they may read it
    at_index = flat::broadcast(at_index, load_lanes);
    mask = scalar_mask;
  }
  emit_prefetch(buffer, where);
  flat::Expr value = flat::load(storage_[buffer].buffer, at_index, {dtype, load_lanes}, mask);
  if (!condition || pad == 0) return value;
  return flat::select(widen(condition, load_lanes), value, flat::imm(pad, {dtype, load_lanes}));
}

void Expander::emit_prefetch(BufferId buffer, const Address& where) {
  if (where.is_vector || init_of_) return;
  const std::int64_t line = 64 / size_of(nest_.buffers[buffer].dtype);
  for (ActivePrefetch& p : prefetches_) {
    if (p.buffer != buffer) continue;
    flat::Expr index = flat::binary(flat::BinaryOp::kAdd, where.index, flat::int_imm(p.elements));
    // One a cache line: an address in the line of one already prefetched is left out.
    const auto split = [](const flat::Expr& e) {
      const auto* sum = std::get_if<flat::Binary>(&e->value);
      if (sum != nullptr && sum->op == flat::BinaryOp::kAdd && flat::as_int(sum->b))
        return std::pair{sum->a, *flat::as_int(sum->b)};
      return std::pair{e, std::int64_t{0}};
    };
    const auto [base, c] = split(index);
    const bool covered = std::ranges::any_of(p.done, [&](const flat::Expr& other) {
      const auto [other_base, other_c] = split(other);
      return c / line == other_c / line && flat::print(program_, base) == flat::print(program_, other_base);
    });
    if (covered) continue;
    p.done.push_back(index);
    out_->push_back(flat::prefetch(storage_[buffer].buffer, index));
  }
}

void Expander::emit_write(const Instance& at, BufferId buffer, flat::Expr value) {
  const Address where = address(at, buffer, nest_.blocks[at.id].index);
  if (++nodes_ > limits_.max_nodes)
    refuse(ErrorKind::kIllegalSchedule, "the unrolled program has more than {} writes: unroll less", limits_.max_nodes);
  const int lanes = where.uniform ? 1 : at.lanes;
  LATHE_CHECK(value->type.lanes <= lanes, "block {} writes one element from several lanes", nest_.blocks[at.id].name);
  value = widen(value, lanes);
  if (storage_[buffer].is_register) {
    if (!where.fixed || where.is_vector)
      refuse(ErrorKind::kIllegalSchedule, "{} is in registers, so every loop that indexes it must be unrolled or vectorized",
             nest_.buffers[buffer].name);
    out_->push_back(flat::reg_write(register_of(buffer, *where.fixed, value->type), value));
    return;
  }
  value = flat::cast(value, nest_.buffers[buffer].dtype);
  flat::Expr mask = at.mask;
  if (mask && lanes == 1) mask = nullptr;
  out_->push_back(flat::store(storage_[buffer].buffer, where.index, value, mask));
}

}  // namespace lathe::lower
