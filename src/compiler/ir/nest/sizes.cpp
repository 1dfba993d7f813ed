#include "compiler/ir/nest/sizes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/result.h"

namespace lathe::ir {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  LATHE_CHECK(b > 0, "ceildiv by {}", b);
  return a / b + (a > 0 && a % b != 0 ? 1 : 0);
}

// Absurd tile sizes make absurd sizes, which are refused later. They must not wrap into plausible
// ones.
constexpr std::int64_t kLimit = std::int64_t{1} << 62;
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_mul_overflow(a, b, &out)) return std::clamp(out, -kLimit, kLimit);
  return (a < 0) == (b < 0) ? kLimit : -kLimit;
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return std::clamp(out, -kLimit, kLimit);
  return a < 0 ? -kLimit : kLimit;
}

std::int64_t apply(Sizes::Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Sizes::Op::kAdd: return plus(a, b);
    case Sizes::Op::kMul: return times(a, b);
    case Sizes::Op::kCeilDiv: return ceil_div(a, b);
    case Sizes::Op::kMin: return std::min(a, b);
    case Sizes::Op::kMax: return std::max(a, b);
    case Sizes::Op::kConst:
    case Sizes::Op::kKnob: break;
  }
  return a;
}

}  // namespace

SizeId Sizes::intern(Entry entry) {
  const auto found = std::ranges::find(entries_, entry);
  if (found != entries_.end()) return static_cast<SizeId>(found - entries_.begin());
  entries_.push_back(entry);
  return static_cast<SizeId>(entries_.size() - 1);
}

SizeId Sizes::constant(std::int64_t value) {
  return intern({Op::kConst, value, SizeId::kNone, SizeId::kNone});
}

SizeId Sizes::knob(int number, const std::string& name) {
  if (std::cmp_less_equal(knob_names_.size(), number))
    knob_names_.resize(static_cast<std::size_t>(number) + 1);
  knob_names_[static_cast<std::size_t>(number)] = name;
  return intern({Op::kKnob, number, SizeId::kNone, SizeId::kNone});
}

SizeId Sizes::combine(Op op, SizeId a, SizeId b) {
  if (is_constant(a) && is_constant(b))
    return constant(apply(op, constant_value(a), constant_value(b)));
  if (op != Op::kCeilDiv && static_cast<int>(a) > static_cast<int>(b)) std::swap(a, b);
  return intern({op, 0, a, b});
}

void Sizes::collect(SizeId id, Product& out) const {
  const Entry& e = at(id);
  if (e.op == Op::kConst) {
    out.constant = times(out.constant, e.value);
  } else if (e.op == Op::kMul) {
    collect(e.a, out);
    collect(e.b, out);
  } else {
    out.factors.push_back(id);
  }
}

Sizes::Product Sizes::product_of(SizeId id) const {
  Product product;
  collect(id, product);
  std::ranges::sort(product.factors);
  return product;
}

SizeId Sizes::build(const Product& product) {
  if (product.factors.empty() || product.constant == 0) return constant(product.constant);
  SizeId id = product.factors.front();
  for (std::size_t i = 1; i < product.factors.size(); ++i)
    id = intern({Op::kMul, 0, id, product.factors[i]});
  return product.constant == 1 ? id : intern({Op::kMul, 0, id, constant(product.constant)});
}

void Sizes::collect(SizeId id, std::int64_t factor, Sum& out) const {
  const Entry& e = at(id);
  if (e.op == Op::kConst) {
    out.constant = plus(out.constant, times(factor, e.value));
  } else if (e.op == Op::kAdd) {
    collect(e.a, factor, out);
    collect(e.b, factor, out);
  } else if (e.op == Op::kMul && is_constant(e.b)) {
    collect(e.a, times(factor, constant_value(e.b)), out);
  } else {
    out.terms.emplace_back(id, factor);
  }
}

SizeId Sizes::build(Sum sum) {
  std::ranges::sort(sum.terms);
  SizeId id = SizeId::kNone;
  const auto append = [&](SizeId term) {
    id = id == SizeId::kNone ? term : intern({Op::kAdd, 0, id, term});
  };
  for (std::size_t i = 0; i < sum.terms.size();) {
    const SizeId term = sum.terms[i].first;
    std::int64_t factor = 0;
    for (; i < sum.terms.size() && sum.terms[i].first == term; ++i)
      factor = plus(factor, sum.terms[i].second);
    if (factor != 0) append(factor == 1 ? term : intern({Op::kMul, 0, term, constant(factor)}));
  }
  if (sum.constant != 0 || id == SizeId::kNone) append(constant(sum.constant));
  return id;
}

SizeId Sizes::add(SizeId a, SizeId b) {
  Sum sum;
  collect(a, 1, sum);
  collect(b, 1, sum);
  return build(std::move(sum));
}

SizeId Sizes::mul(SizeId a, SizeId b) {
  for (const auto& [x, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (!is_constant(x) || at(other).op != Op::kAdd) continue;
    Sum sum;
    collect(other, constant_value(x), sum);
    return build(std::move(sum));
  }
  Product product = product_of(a);
  collect(b, product);
  std::ranges::sort(product.factors);
  return build(product);
}

std::optional<Sizes::Product> Sizes::quotient(const Product& a, const Product& b) {
  if (b.constant == 0 || a.constant % b.constant != 0 ||
      !std::ranges::includes(a.factors, b.factors))
    return {};
  Product out{a.constant / b.constant, {}};
  std::ranges::set_difference(a.factors, b.factors, std::back_inserter(out.factors));
  return out;
}

SizeId Sizes::ceildiv(SizeId a, SizeId b) {
  if (const auto exact = quotient(product_of(a), product_of(b))) return build(*exact);
  if (at(a).op == Op::kCeilDiv) {
    const Entry inner = at(a);
    return ceildiv(inner.a, mul(inner.b, b));
  }
  return combine(Op::kCeilDiv, a, b);
}

SizeId Sizes::min(SizeId a, SizeId b) { return a == b ? a : combine(Op::kMin, a, b); }
SizeId Sizes::max(SizeId a, SizeId b) { return a == b ? a : combine(Op::kMax, a, b); }

bool Sizes::divides(SizeId divisor, SizeId size) const {
  return quotient(product_of(size), product_of(divisor)).has_value();
}

bool Sizes::is_negative(SizeId id) const { return product_of(id).constant < 0; }

bool Sizes::at_least(SizeId size, SizeId bound) const { return at_least(size, bound, 8); }

// y * ceildiv(x, y) >= x, and factors are at least 1.
bool Sizes::at_least(const Product& size, SizeId bound, int depth) const {
  if (depth == 0) return false;
  const Product wanted = product_of(bound);
  if (std::ranges::includes(size.factors, wanted.factors) && size.constant >= wanted.constant &&
      wanted.constant >= 0)
    return true;
  for (std::size_t i = 0; i < size.factors.size(); ++i) {
    const Entry& e = at(size.factors[i]);
    Product rest = size;
    rest.factors.erase(rest.factors.begin() + static_cast<std::ptrdiff_t>(i));
    if (e.op == Op::kCeilDiv) {
      auto without = quotient(rest, product_of(e.b));
      if (!without) continue;
      collect(e.a, *without);
      std::ranges::sort(without->factors);
      if (at_least(*without, bound, depth - 1)) return true;
    } else if (e.op == Op::kMax && size.constant > 0) {
      for (const SizeId side : {e.a, e.b}) {
        Product chosen = rest;
        collect(side, chosen);
        std::ranges::sort(chosen.factors);
        if (at_least(chosen, bound, depth - 1)) return true;
      }
    }
  }
  return false;
}

bool Sizes::at_least(SizeId size, SizeId bound, int depth) const {
  if (size == bound) return true;
  if (is_constant(size) && is_constant(bound)) return constant_value(size) >= constant_value(bound);
  if (depth == 0) return false;
  const Entry& a = at(size);
  const Entry& b = at(bound);
  if (b.op == Op::kMin) return at_least(size, b.a, depth - 1) || at_least(size, b.b, depth - 1);
  if (b.op == Op::kMax) return at_least(size, b.a, depth - 1) && at_least(size, b.b, depth - 1);
  if (a.op == Op::kMin) return at_least(a.a, bound, depth - 1) && at_least(a.b, bound, depth - 1);
  return at_least(product_of(size), bound, depth);
}

void Sizes::evaluate(std::span<const std::int64_t> knobs, std::vector<std::int64_t>& out) const {
  out.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    switch (e.op) {
      case Op::kConst: out[i] = e.value; break;
      case Op::kKnob: out[i] = knobs[static_cast<std::size_t>(e.value)]; break;
      default:
        out[i] =
            apply(e.op, out[static_cast<std::size_t>(e.a)], out[static_cast<std::size_t>(e.b)]);
    }
  }
}

std::int64_t Sizes::evaluate(SizeId id, std::span<const std::int64_t> values) const {
  const Entry& e = at(id);
  return apply(e.op, values[static_cast<std::size_t>(e.a)], values[static_cast<std::size_t>(e.b)]);
}

std::string Sizes::text(SizeId id) const {
  if (id == SizeId::kNone) return "none";
  const Entry& e = at(id);
  switch (e.op) {
    case Op::kConst: return std::to_string(e.value);
    case Op::kKnob: return knob_name(static_cast<int>(e.value));
    case Op::kAdd: return "(" + text(e.a) + " + " + text(e.b) + ")";
    case Op::kMul: return text(e.a) + "*" + text(e.b);
    case Op::kCeilDiv: return "ceildiv(" + text(e.a) + ", " + text(e.b) + ")";
    case Op::kMin: return "min(" + text(e.a) + ", " + text(e.b) + ")";
    case Op::kMax: return "max(" + text(e.a) + ", " + text(e.b) + ")";
  }
  return "?";
}

}  // namespace lathe::ir
