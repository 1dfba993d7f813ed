#include "compiler/lower/passes/ranges.h"

#include <algorithm>

namespace lathe::lower {
namespace {

using flat::BinaryOp;
using flat::Expr;

std::int64_t cut(__int128 value) {
  if (value > Interval::kFar) return Interval::kFar;
  return value < -Interval::kFar ? -Interval::kFar : static_cast<std::int64_t>(value);
}
bool far(std::int64_t end) { return end == Interval::kFar || end == -Interval::kFar; }
// True for a sum of two known ends that is not known to be a number of 64 bits.
bool wraps(std::int64_t a, std::int64_t b) {
  const __int128 sum = static_cast<__int128>(a) + b;
  return !far(a) && !far(b) && cut(sum) != sum;
}
std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// 1 if the terms are equal, -1 if they are each other's negatives, else 0.
int same_terms(const std::vector<Linear::Term>& a, const std::vector<Linear::Term>& b) {
  if (a.size() != b.size() || a.empty()) return 0;
  const int sign = a[0].coef == b[0].coef ? 1 : -1;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].coef != sign * b[i].coef || !equal(a[i].atom, b[i].atom)) return 0;
  return sign;
}

Interval range_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kI8: return {-128, 127};
    case Dtype::kU8: return {0, 255};
    case Dtype::kI16: return {INT16_MIN, INT16_MAX};
    case Dtype::kU16: return {0, UINT16_MAX};
    case Dtype::kU32: return {0, UINT32_MAX};
    case Dtype::kI32: return {INT32_MIN, INT32_MAX};
    case Dtype::kBool: return {0, 1};
    default: return {};
  }
}

}  // namespace

Interval operator+(Interval a, Interval b) {
  if (wraps(a.low, b.low) || wraps(a.high, b.high)) return {};
  const auto end = [](std::int64_t x, std::int64_t y) {
    return far(x) ? x : far(y) ? y : cut(static_cast<__int128>(x) + y);
  };
  return {end(a.low, b.low), end(a.high, b.high)};
}
Interval operator*(Interval a, std::int64_t factor) {
  if (factor == 0) return {0, 0};
  const auto wraps = [&](std::int64_t end) {
    const __int128 product = static_cast<__int128>(end) * factor;
    return !far(end) && cut(product) != product;
  };
  if (wraps(a.low) || wraps(a.high)) return {};
  const std::int64_t x = cut(static_cast<__int128>(a.low) * factor),
                     y = cut(static_cast<__int128>(a.high) * factor);
  return {std::min(x, y), std::max(x, y)};
}
Interval intersect(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

void Ranges::set_let(int var, const Expr& value) {
  meaning_[static_cast<std::size_t>(var)] = value;
  range_[static_cast<std::size_t>(var)] = of(value);
}

void Ranges::restore(State state) {
  range_ = std::move(state.first);
  facts_.resize(state.second);
}

void Ranges::add_atom(Linear& sum, const Expr& e, std::int64_t factor) const {
  const auto place = std::ranges::lower_bound(sum.terms, e->hash, {},
                                              [](const Linear::Term& t) { return t.atom->hash; });
  if (place == sum.terms.end() || place->atom->hash != e->hash) {
    sum.terms.insert(place, {e, factor});
    return;
  }
  place->coef = wrap_add(place->coef, factor);
  if (place->coef == 0) sum.terms.erase(place);
}

void Ranges::add(Linear& sum, const Expr& e, std::int64_t factor) const {
  if (factor == 0) return;
  if (const auto value = flat::splat_int(e)) {
    sum.constant = wrap_add(sum.constant, wrap_mul(*value, factor));
  } else if (const auto* v = std::get_if<flat::Var>(&e->value)) {
    const Expr& meaning = meaning_[static_cast<std::size_t>(v->id)];
    meaning ? add(sum, meaning, factor) : add_atom(sum, e, factor);
  } else if (const auto* b = std::get_if<flat::Broadcast>(&e->value)) {
    add(sum, b->x, factor);
  } else if (const auto* r = std::get_if<flat::Ramp>(&e->value)) {
    add(sum, r->base, factor);
    const std::int64_t last = wrap_mul(wrap_mul(r->stride, factor), e->type.lanes - 1);
    sum.spread =
        sum.spread + Interval{std::min<std::int64_t>(0, last), std::max<std::int64_t>(0, last)};
  } else if ((e->contents & flat::contents::kData) != 0) {
    add_atom(sum, e, factor);  // its sums may wrap
  } else if (const auto* n = std::get_if<flat::Binary>(&e->value);
             n != nullptr && n->op == BinaryOp::kAdd) {
    add(sum, n->a, factor);
    add(sum, n->b, factor);
  } else if (n != nullptr && n->op == BinaryOp::kSub) {
    add(sum, n->a, factor);
    add(sum, n->b, wrap_mul(factor, -1));
  } else if (n != nullptr && n->op == BinaryOp::kMul && flat::splat_int(n->b)) {
    add(sum, n->a, wrap_mul(factor, *flat::splat_int(n->b)));
  } else {
    add_atom(sum, e, factor);
  }
}

Linear Ranges::linear(const Expr& e) const {
  Linear sum;
  add(sum, e, 1);
  return sum;
}

Interval Ranges::of(const Linear& linear) const {
  Interval total{0, 0};
  for (const Linear::Term& term : linear.terms) total = total + of_atom(term.atom) * term.coef;
  for (const Fact& fact : facts_)
    if (const int sign = same_terms(fact.terms, linear.terms))
      total = intersect(total, fact.range * sign);
  return total + linear.spread + Interval{linear.constant, linear.constant};
}

Interval Ranges::of_atom(const Expr& e) const {
  if (const auto* v = std::get_if<flat::Var>(&e->value))
    return range_[static_cast<std::size_t>(v->id)];
  if (const auto* c = std::get_if<flat::Cast>(&e->value))
    return is_float(c->x->type.dtype) ? Interval{} : range_of(c->x->type.dtype);
  if (const auto* s = std::get_if<flat::Select>(&e->value)) {
    const Interval t = of(s->then), o = of(s->otherwise);
    return {std::min(t.low, o.low), std::max(t.high, o.high)};
  }
  const auto* n = std::get_if<flat::Binary>(&e->value);
  if (n == nullptr) return {};
  if (n->op == BinaryOp::kMin || n->op == BinaryOp::kMax) {
    const Interval a = of(n->a), b = of(n->b);
    if (n->op == BinaryOp::kMin) return {std::min(a.low, b.low), std::min(a.high, b.high)};
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }
  const auto divisor = flat::splat_int(n->b);
  if (!divisor || *divisor <= 0) return {};
  const Interval a = of(n->a);
  if (n->op == BinaryOp::kDiv)
    return {far(a.low) ? a.low : a.low / *divisor, far(a.high) ? a.high : a.high / *divisor};
  if (n->op == BinaryOp::kMod)
    return {a.low >= 0 ? 0 : std::max(a.low, 1 - *divisor),
            a.high <= 0 ? 0 : std::min(a.high, *divisor - 1)};
  if (n->op == BinaryOp::kBitAnd) return {0, *divisor};
  return {};
}

Linear Ranges::minus(const Linear& a, const Linear& b) const {
  Linear out = a;
  out.constant = wrap_add(a.constant, wrap_mul(b.constant, -1));
  out.spread = a.spread + b.spread * -1;
  for (const Linear::Term& term : b.terms) add_atom(out, term.atom, wrap_mul(term.coef, -1));
  return out;
}

// False where the sum may have wrapped on the way to its value.
bool Ranges::is_exact(const Linear& sum) const {
  if (sum.terms.size() == 1 && sum.terms[0].coef == 1 && sum.constant == 0 && sum.spread.low == 0 &&
      sum.spread.high == 0)
    return true;
  const Interval range = of(sum);
  return !far(range.low) && !far(range.high);
}

std::optional<bool> Ranges::decide(BinaryOp comparison, const Expr& a, const Expr& b) const {
  const Linear left = linear(a), right = linear(b);
  if (!is_exact(left) || !is_exact(right)) return std::nullopt;
  const Interval d = of(minus(left, right));
  const auto known = [](bool yes, bool no) -> std::optional<bool> {
    return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt;
  };
  switch (comparison) {
    case BinaryOp::kLt: return known(d.high < 0, d.low >= 0);
    case BinaryOp::kLe: return known(d.high <= 0, d.low > 0);
    case BinaryOp::kEq: return known(d.low == 0 && d.high == 0, d.low > 0 || d.high < 0);
    case BinaryOp::kNe: return known(d.low > 0 || d.high < 0, d.low == 0 && d.high == 0);
    default: return std::nullopt;
  }
}

// Assumes that terms + constant <= bound.
void Ranges::assume_at_most(Linear sum, std::int64_t bound) {
  const std::int64_t most = wrap_add(bound, wrap_mul(sum.constant, -1));
  if (sum.terms.size() == 1) {
    const auto& [atom, coef] = sum.terms[0];
    if (const auto* v = std::get_if<flat::Var>(&atom->value)) {
      Interval& range = range_[static_cast<std::size_t>(v->id)];
      if (coef > 0) range.high = std::min(range.high, floor_div(most, coef));
      else range.low = std::max(range.low, -floor_div(most, wrap_mul(coef, -1)));
      return;
    }
  }
  if (!sum.terms.empty()) facts_.push_back({std::move(sum.terms), {-Interval::kFar, most}});
}

void Ranges::assume(const Expr& condition, bool holds) {
  if (const auto* u = std::get_if<flat::Unary>(&condition->value);
      u != nullptr && u->op == flat::UnaryOp::kNot)
    return assume(u->x, !holds);
  const auto* n = std::get_if<flat::Binary>(&condition->value);
  if (n == nullptr || condition->type.lanes != 1) return;
  if (n->op == (holds ? BinaryOp::kAnd : BinaryOp::kOr)) {
    assume(n->a, holds);
    assume(n->b, holds);
    return;
  }
  if (!flat::is_comparison(n->op) || n->a->type.dtype != Dtype::kI64) return;
  const Linear left = linear(n->a), right = linear(n->b);
  if (!is_exact(left) || !is_exact(right)) return;
  const Linear up = minus(left, right), down = minus(right, left);
  if (n->op == BinaryOp::kLt) holds ? assume_at_most(up, -1) : assume_at_most(down, 0);
  if (n->op == BinaryOp::kLe) holds ? assume_at_most(up, 0) : assume_at_most(down, -1);
  if (n->op == (holds ? BinaryOp::kEq : BinaryOp::kNe)) {
    assume_at_most(up, 0);
    assume_at_most(down, 0);
  }
}

}  // namespace lathe::lower
