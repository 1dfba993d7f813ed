// Addresses in a buffer's storage; the reads and writes that go there.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "compiler/lower/expand/block_emitter.h"
#include "compiler/lower/expand/lanes.h"

namespace lathe::lower {
namespace {

// A coordinate around the digit (coordinate / weight) % (modulus / weight) of it: what is below the
// digit, and a multiple of the weight that says what the digit is.
struct AroundDigit {
  Lin low, mid;

  AroundDigit(const Lin& coordinate, const LayoutDigit& digit) {
    const std::int64_t w = digit.weight, m = digit.modulus;
    const auto sort_in = [&](std::int64_t coef, auto&& add) {
      if (m > 0 && coef % m == 0) return;
      add(coef % w == 0 ? mid : low, coef);
    };
    for (const auto& [var, coef] : coordinate.terms)
      sort_in(coef, [&](Lin& part, std::int64_t k) { part.add(k, var); });
    sort_in(coordinate.lane, [](Lin& part, std::int64_t k) { part.lane += k; });
    std::int64_t c = coordinate.c;
    if (m > 0) c = ((c % m) + m) % m;
    low.c = ((c % w) + w) % w;
    mid.c = c - low.c;
  }
  Lin digits(std::int64_t weight) const {
    Lin out;
    out.c = mid.c / weight;
    out.lane = mid.lane / weight;
    for (const auto& [var, coef] : mid.terms) out.add(coef / weight, var);
    return out;
  }
};

// Of a coordinate the part that is the same for all lanes, as a multiple of `unit`, where what is
// below that differs in nothing that a digit of this weight could see.
struct UniformPart {
  std::int64_t unit;
  Lin multiple;
  bool found = false;

  UniformPart(const Lin& coordinate, const LayoutDigit& digit, const std::vector<Range>& ranges,
              int lanes)
      : unit(digit.weight) {
    const auto counts = [&](std::int64_t coef) {
      return digit.modulus == 0 || coef % digit.modulus != 0;
    };
    for (const auto& [var, coef] : coordinate.terms)
      if (counts(coef)) unit = std::gcd(unit, coef);
    for (const auto& [var, coef] : coordinate.terms)
      if (counts(coef)) multiple.add(coef / unit, var);
    Lin below;
    below.lane = counts(coordinate.lane) ? coordinate.lane : 0;
    below.c = ((coordinate.c % unit) + unit) % unit;
    std::int64_t c = coordinate.c - below.c;
    if (digit.modulus > 0) c = ((c % digit.modulus) + digit.modulus) % digit.modulus;
    multiple.c = c / unit;
    const Range b = range_of(below, ranges, lanes);
    found = b.min >= 0 && b.max < unit && range_of(multiple, ranges, 1).min >= 0;
  }
};

}  // namespace

// Writes a digit of a coordinate as a linear form, if its terms separate cleanly. On a grid, else,
// as an expression that is the same for all lanes, if these differ below it alone.
BlockEmitter::DigitValue BlockEmitter::digit_value(const Lin& coordinate, const LayoutDigit& digit,
                                                   int lanes) const {
  const std::int64_t w = digit.weight, m = digit.modulus;
  const AroundDigit around(coordinate, digit);
  const Range l = range_of(around.low, place_.ranges, lanes);
  const Range r = range_of(around.mid, place_.ranges, lanes);
  if (l.min >= 0 && l.max < w && (m == 0 || (r.min >= 0 && r.max + l.max < m)))
    return {around.digits(w), {}, 0};
  const UniformPart part(coordinate, digit, place_.ranges, lanes);
  if (!plan_.grids || !part.found || m % w != 0) return {};
  const auto on = [&](flat::BinaryOp op, const flat::Expr& value, std::int64_t by) {
    return flat::binary(op, value, flat::int_imm(by));
  };
  flat::Expr value = scalar_expr(part.multiple);
  if (m > 0) value = on(flat::BinaryOp::kMod, value, m / part.unit);
  if (part.unit != w) value = on(flat::BinaryOp::kDiv, value, w / part.unit);
  const std::int64_t most = range_of(part.multiple, place_.ranges, 1).max * part.unit / w;
  return {{}, value, m > 0 ? m / w : most + 1};
}

namespace {

// Digits of a coordinate that need a real division, each times its stride.
struct AwkwardDigits {
  flat::Expr sum;
  bool bounded = true;                  // the most is known
  std::int64_t most = 0, multiple = 0;  // of the sum; what it is a multiple of

  // `values`: how many the digit takes; 0: that is not known.
  void add(const flat::Expr& digit, std::int64_t values, std::int64_t stride) {
    const auto factor = flat::imm(static_cast<double>(stride), digit->type);
    flat::Expr value = flat::binary(flat::BinaryOp::kMul, digit, factor);
    if (sum) {
      const int lanes = std::max(sum->type.lanes, value->type.lanes);
      value = flat::binary(flat::BinaryOp::kAdd, widen(sum, lanes), widen(value, lanes));
    }
    sum = value;
    bounded = bounded && values > 0;
    most += (values - 1) * stride;
    multiple = std::gcd(multiple, stride);
  }
};

flat::Expr divided(const flat::Expr& value, const LayoutDigit& digit) {
  const auto number = [&](std::int64_t v) {
    return flat::imm(static_cast<double>(v), value->type);
  };
  flat::Expr out = value;
  if (digit.modulus > 0) out = flat::binary(flat::BinaryOp::kMod, out, number(digit.modulus));
  return flat::binary(flat::BinaryOp::kDiv, out, number(digit.weight));
}

}  // namespace

Address BlockEmitter::address(const Instance& at, BufferId buffer,
                              const std::vector<ir::Affine>& index,
                              const std::vector<flat::Expr>& rests) const {
  const Storage& storage = plan_.storage[buffer];
  std::vector<Lin> coordinates;
  for (std::size_t d = 0; d < index.size(); ++d) {
    Lin lin =
        place_.affine_lin(*at.plan, index[d].terms, index[d].offset - storage.start[d].offset);
    for (const LoopDigit& digit : storage.start[d].digits) lin.add(-1, place_.digit_lin(digit));
    coordinates.push_back(std::move(lin));
  }
  Lin offset;
  AwkwardDigits awkward;
  for (const LayoutDigit& digit : storage.digits) {
    const Lin& coordinate = coordinates[digit.dim];
    if (const flat::Expr rest = rests.empty() ? nullptr : rests[digit.dim]) {
      if (digit.weight == 1 && digit.modulus == 0) {
        offset.add(digit.stride, coordinate);
        awkward.add(rest, 0, digit.stride);
        continue;
      }
      const flat::Expr known = vector_expr(coordinate, at.lanes);
      const int lanes = std::max(known->type.lanes, rest->type.lanes);
      awkward.add(
          divided(flat::binary(flat::BinaryOp::kAdd, widen(rest, lanes), widen(known, lanes)),
                  digit),
          0, digit.stride);
      continue;
    }
    const DigitValue known = digit_value(coordinate, digit, at.lanes);
    if (known.lin) offset.add(digit.stride, *known.lin);
    else if (known.expr) awkward.add(known.expr, known.values, digit.stride);
    else awkward.add(divided(vector_expr(coordinate, at.lanes), digit), 0, digit.stride);
  }
  if (plan_.grids) place_.join_digits(offset);
  Address out;
  const Range r = range_of(offset, place_.ranges, at.lanes);
  const bool scalar =
      !awkward.sum || ((plan_.grids || !rests.empty()) && awkward.sum->type.lanes == 1);
  out.inside = scalar && awkward.bounded && r.min >= 0 && r.max + awkward.most < storage.stage;
  if (storage.stage < storage.size)
    offset.add(storage.stage, place_.stage[nest_.buffers[buffer].at]);
  if (scalar && (!awkward.sum || offset.lane == 0 || offset.lane == 1)) {
    out.multiple = std::gcd(offset.c, awkward.multiple);
    for (const Lin::Term& term : offset.terms) out.multiple = std::gcd(out.multiple, term.coef);
    out.uniform = offset.lane == 0;
    if (offset.terms.empty() && !awkward.sum) out.fixed = offset.c;
    out.is_vector = offset.lane != 0 && offset.lane != 1;
    out.index = out.is_vector ? vector_expr(offset, at.lanes) : scalar_expr(offset);
    if (awkward.sum) out.index = flat::binary(flat::BinaryOp::kAdd, awkward.sum, out.index);
    return out;
  }
  out.inside = false;
  out.uniform = awkward.sum->type.lanes == 1 && offset.lane == 0;
  out.is_vector = !out.uniform;
  const flat::Expr rest = vector_expr(offset, at.lanes);
  const int lanes = std::max(rest->type.lanes, awkward.sum->type.lanes);
  out.index = flat::binary(flat::BinaryOp::kAdd, widen(awkward.sum, lanes), widen(rest, lanes));
  return out;
}

void BlockEmitter::count_access() {
  if (++state_.accesses > limits_.max_accesses)
    refuse(ErrorKind::kIllegalSchedule,
           "the unrolled program reads and writes more than {} elements: unroll less",
           limits_.max_accesses);
}

std::int64_t BlockEmitter::fixed_element(BufferId buffer, const Address& where) const {
  if (!where.fixed || where.is_vector)
    refuse(ErrorKind::kIllegalSchedule,
           "{} is in registers, so every loop that indexes it must be unrolled or vectorized",
           nest_.buffers[buffer].name);
  return *where.fixed;
}

int BlockEmitter::register_of(BufferId buffer, std::int64_t offset, flat::Type type) {
  const auto [it, made] =
      state_.registers.try_emplace({buffer, offset}, static_cast<int>(code_.program.regs.size()));
  if (made) code_.program.regs.push_back(type);
  if (code_.program.regs[it->second] != type)
    refuse(ErrorKind::kIllegalSchedule,
           "the register tile {} is used with {} lanes in one place and {} in another: vectorize "
           "all its loops alike",
           nest_.buffers[buffer].name, code_.program.regs[it->second].lanes, type.lanes);
  return it->second;
}

// The mask of a load: it says which lanes may be touched at all. On a grid these are, of what the
// block writes itself, no more than those that it writes: another group may write the others.
flat::Expr BlockEmitter::lower_mask(const Instance& at, BufferId buffer, const Address& address,
                                    const flat::Expr& condition) const {
  flat::Expr mask = condition;
  if (!address.inside) {
    mask = both(mask, at.loads_condition);
    if (!address.uniform) mask = both(mask, at.mask);
  } else if (plan_.grids && nest_.blocks[at.id].writes == buffer && !address.uniform) {
    mask = both(mask, at.mask);
  }
  return mask;
}

// Where lanes are far apart and all of them share a condition: their place where it holds, else one
// that is surely there. Asking for each lane would be much code. Null: the tensor's place moves.
flat::Expr BlockEmitter::place_or_another(const Instance& at, BufferId buffer,
                                          const std::vector<ir::Affine>& index,
                                          const Address& where, const flat::Expr& condition) const {
  if (!condition || condition->type.lanes > 1 || at.reached || !where.is_vector) return nullptr;
  const Storage& storage = plan_.storage[buffer];
  if (std::ranges::any_of(storage.start, [](const Storage::Start& start) {
        return start.offset != 0 || !start.digits.empty();
      }))
    return nullptr;
  std::vector<ir::Affine> there = index;
  for (ir::Affine& row : there)
    if (place_.affine_lin(*at.plan, row.terms, row.offset).lane == 0) row = ir::Affine::constant(0);
  const Address other = address(at, buffer, there);
  // Lanes beyond a tail would leave the buffer, and so would those that a condition on a grid is
  // for.
  if ((where.inside || plan_.grids) && !other.inside) return nullptr;
  const auto* a = std::get_if<flat::Ramp>(&where.index->value);
  const auto* b = std::get_if<flat::Ramp>(&other.index->value);
  if (a == nullptr || b == nullptr || a->stride != b->stride) return nullptr;
  return flat::ramp(flat::select(condition, a->base, b->base), a->stride, at.lanes);
}

flat::Expr BlockEmitter::read_element(const Instance& at, BufferId buffer,
                                      const std::vector<ir::Affine>& index,
                                      const flat::Expr& condition, double pad) {
  const Dtype dtype = nest_.buffers[buffer].dtype;
  if (condition && flat::is_imm(condition, 0)) return flat::imm(pad, {dtype, 1});
  count_access();
  const Address where = address(at, buffer, index);
  if (plan_.storage[buffer].is_register) {
    const std::int64_t element = fixed_element(buffer, where);
    const auto found = state_.registers.find({buffer, element});
    if (found == state_.registers.end())
      refuse(ErrorKind::kIllegalSchedule,
             "{} reads an element of the register tile {} before it is written",
             nest_.blocks[at.id].name, nest_.buffers[buffer].name);
    const flat::Type type = code_.program.regs[found->second];
    if (type.lanes != (where.uniform ? 1 : at.lanes))
      register_of(buffer, element, {type.dtype, where.uniform ? 1 : at.lanes});
    flat::Expr value = flat::reg_read(found->second, type);
    if (!condition) return value;
    const int all = std::max(condition->type.lanes, type.lanes);
    return flat::select(widen(condition, all), widen(value, all), flat::imm(pad, {dtype, all}));
  }
  const int lanes = where.uniform ? 1 : at.lanes;
  if (const flat::Expr place = place_or_another(at, buffer, index, where, condition)) {
    flat::Expr mask = lower_mask(at, buffer, where, nullptr);
    if (mask) mask = widen(mask, lanes);
    const flat::Type type{dtype, lanes};
    return flat::select(widen(condition, lanes),
                        flat::load(plan_.storage[buffer].buffer, place, type, mask),
                        flat::imm(pad, type));
  }
  share_prefetches(at, buffer, index, where);
  return load_element(at, buffer, where, condition, pad);
}

flat::Expr BlockEmitter::load_element(const Instance& at, BufferId buffer, const Address& where,
                                      const flat::Expr& condition, double pad) {
  const Dtype dtype = nest_.buffers[buffer].dtype;
  const int lanes = where.uniform ? 1 : at.lanes;
  flat::Expr mask = lower_mask(at, buffer, where, condition);
  const flat::Expr scalar_mask = mask;
  if (mask && mask->type.lanes < lanes) mask = flat::broadcast(mask, lanes);
  // Every lane reads the same element; see below.
  if (mask && mask->type.lanes > lanes) mask = nullptr;
  const int load_lanes = mask == nullptr && scalar_mask ? scalar_mask->type.lanes : lanes;
  flat::Expr at_index = where.index;
  if (load_lanes > lanes) {  // lanes differ in whether they may read the element
    at_index = flat::broadcast(at_index, load_lanes);
    mask = scalar_mask;
  }
  emit_prefetch(buffer, where);
  flat::Expr value = flat::load(plan_.storage[buffer].buffer, at_index, {dtype, load_lanes}, mask);
  if (plan_.is_of_group(buffer) && nest_.blocks[at.id].writes == buffer)
    code_.owners[value.get()] = {at.id, value};
  const bool zero = pad == 0 && !std::signbit(pad);  // as in lanes that are masked
  if (!condition || zero) return value;
  return flat::select(widen(condition, load_lanes), value, flat::imm(pad, {dtype, load_lanes}));
}

double BlockEmitter::literal_element(BlockId id, const ir::Read& read) const {
  const Address where = address({id, &plan_.blocks[id]}, read.tensor, read.index);
  LATHE_CHECK(where.fixed.has_value(), "{} is read at an unknown element",
              nest_.buffers[read.tensor].name);
  const std::vector<double>& elements = nest_.buffers[read.tensor].literal;
  const bool inside = *where.fixed >= 0 && std::cmp_less(*where.fixed, elements.size());
  return inside ? elements[static_cast<std::size_t>(*where.fixed)] : 0;
}

void BlockEmitter::emit_write(const Instance& at, BufferId buffer, flat::Expr value) {
  const Address where = address(at, buffer, nest_.blocks[at.id].index);
  count_access();
  const int lanes = where.uniform ? 1 : at.lanes;
  if (value->type.lanes > lanes)
    refuse(
        ErrorKind::kIllegalSchedule,
        "block {} writes one element of {} from several vector lanes: do not vectorize that loop",
        nest_.blocks[at.id].name, nest_.buffers[buffer].name);
  value = widen(value, lanes);
  if (plan_.storage[buffer].is_register) {
    code_.out->push_back(
        flat::reg_write(register_of(buffer, fixed_element(buffer, where), value->type), value));
    return;
  }
  value = flat::cast(value, nest_.buffers[buffer].dtype);
  if (filling_ != Filling::kAtOnce && plan_.storage[buffer].stage < plan_.storage[buffer].size) {
    value = held_or_released(std::move(value));
    if (!value) return;
  }
  flat::Expr mask = at.mask;
  if (mask && lanes == 1) mask = nullptr;
  // Partial sums are read again.
  const bool streaming =
      nest_.buffers[buffer].streaming && nest_.blocks[at.id].reduce == ir::ReduceOp::kNone;
  flat::Stmt store = flat::store(plan_.storage[buffer].buffer, where.index, value, mask, streaming);
  if (plan_.is_of_group(buffer)) code_.owners[store.get()] = {at.id, store};
  code_.out->push_back(std::move(store));
}

}  // namespace lathe::lower
