#include "compiler/ir/expr/index_range.h"

#include <algorithm>
#include <limits>

namespace lathe::ir {
namespace {

using Wide = __int128;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// The range, if all of it is of the type; else it may wrap.
IndexRange within(Wide low, Wide high, Dtype dtype) {
  const IndexRange all = numbers_of(dtype);
  if (low < all.low || high > all.high) return all;
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

IndexRange united(const IndexRange& a, const IndexRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

class Ranges {
 public:
  explicit Ranges(const KnownRanges& known) : known_(known) {}

  IndexRange of(const Expr& e) const {
    return std::visit([&](const auto& n) { return range(n, e->dtype); }, e->value);
  }

 private:
  static IndexRange range(const Const& n, Dtype dtype) {
    if (is_float(dtype)) return numbers_of(dtype);
    if (n.value >= 0x1p63 || n.value < -0x1p63) return numbers_of(dtype);
    const auto value = static_cast<std::int64_t>(n.value);
    return {value, value};
  }
  IndexRange range(const IterValue& n, Dtype) const { return known_.of_iter(n.iter); }
  IndexRange range(const Read& n, Dtype dtype) const { return element(n.tensor, n.pad, dtype); }
  IndexRange range(const Lookup& n, Dtype dtype) const { return element(n.tensor, n.pad, dtype); }
  static IndexRange range(const InRange&, Dtype) { return {0, 1}; }
  IndexRange range(const Unary& n, Dtype dtype) const {
    if (dtype == Dtype::kBool) return {0, 1};
    if (is_float(dtype)) return numbers_of(dtype);
    const IndexRange x = of(n.x);
    if (n.op == UnaryOp::kNeg) return within(-Wide{x.high}, -Wide{x.low}, dtype);
    if (n.op != UnaryOp::kAbs) return numbers_of(dtype);
    const Wide most = std::max(Wide{x.high}, -Wide{x.low});
    return within(x.low > 0 ? Wide{x.low} : x.high < 0 ? -Wide{x.high} : Wide{0}, most, dtype);
  }
  IndexRange range(const Binary& n, Dtype dtype) const {
    if (dtype == Dtype::kBool) return {0, 1};
    if (is_float(dtype)) return numbers_of(dtype);
    return combined(n.op, of(n.a), of(n.b), dtype);
  }
  IndexRange range(const Select& n, Dtype) const { return united(of(n.then), of(n.otherwise)); }
  IndexRange range(const Cast& n, Dtype dtype) const {
    if (dtype == Dtype::kBool) return {0, 1};
    if (is_float(dtype) || is_float(n.x->dtype)) return numbers_of(dtype);
    const IndexRange x = of(n.x);
    return within(x.low, x.high, dtype);
  }

  IndexRange element(int tensor, const std::optional<double>& pad, Dtype dtype) const {
    if (is_float(dtype)) return numbers_of(dtype);
    const IndexRange own = known_.of_tensor(tensor, dtype);
    return pad ? united(own, range(Const{*pad}, dtype)) : own;
  }

  static IndexRange combined(BinaryOp op, const IndexRange& a, const IndexRange& b, Dtype dtype) {
    switch (op) {
      case BinaryOp::kAdd: return within(Wide{a.low} + b.low, Wide{a.high} + b.high, dtype);
      case BinaryOp::kSub: return within(Wide{a.low} - b.high, Wide{a.high} - b.low, dtype);
      case BinaryOp::kMin: return {std::min(a.low, b.low), std::min(a.high, b.high)};
      case BinaryOp::kMax: return {std::max(a.low, b.low), std::max(a.high, b.high)};
      case BinaryOp::kMul: {
        const auto [low, high] = std::minmax({Wide{a.low} * b.low, Wide{a.low} * b.high,
                                              Wide{a.high} * b.low, Wide{a.high} * b.high});
        return within(low, high, dtype);
      }
      case BinaryOp::kDiv:
        if (b.low <= 0) return numbers_of(dtype);
        return {std::min(a.low / b.low, a.low / b.high), std::max(a.high / b.low, a.high / b.high)};
      case BinaryOp::kMod: return remainder(a, b, dtype);
      case BinaryOp::kBitAnd:
        if (a.low >= 0 && b.low >= 0) return {0, std::min(a.high, b.high)};
        return b.low >= 0 ? IndexRange{0, b.high} : numbers_of(dtype);
      default: return numbers_of(dtype);
    }
  }

  // It has the sign of the left operand, and is no further from 0.
  static IndexRange remainder(const IndexRange& a, const IndexRange& b, Dtype dtype) {
    if (b.low <= 0) return numbers_of(dtype);
    if (a.low >= 0 && a.high < b.low) return a;
    const std::int64_t most = b.high - 1;
    return {a.low >= 0 ? 0 : std::max(a.low, -most), a.high <= 0 ? 0 : std::min(a.high, most)};
  }

  const KnownRanges& known_;
};

}  // namespace

IndexRange numbers_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool: return {0, 1};
    case Dtype::kI8: return {-128, 127};
    case Dtype::kU8: return {0, 255};
    case Dtype::kI16: return {-32768, 32767};
    case Dtype::kU16: return {0, 65535};
    case Dtype::kU32: return {0, std::numeric_limits<std::uint32_t>::max()};
    case Dtype::kI32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case Dtype::kI64:
    case Dtype::kF32:
    case Dtype::kF64:
    case Dtype::kF16:
    case Dtype::kBF16: break;
  }
  return {kLeast, kMost};
}

IndexRange range_of_elements(const std::vector<double>& elements, Dtype dtype) {
  if (elements.empty() || is_float(dtype)) return numbers_of(dtype);
  const auto [low, high] = std::ranges::minmax(elements);
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

IndexRange range_of(const Expr& e, const KnownRanges& known) {
  // Cancels what an affine form has twice.
  if (e->dtype != Dtype::kI64) return Ranges(known).of(e);
  const AffineAndRest parts = affine_and_rest(e);
  const IndexRange affine = range_of(parts.affine, known);
  if (!parts.rest) return affine;
  const IndexRange rest = Ranges(known).of(parts.rest);
  const Wide low = Wide{affine.low} + rest.low, high = Wide{affine.high} + rest.high;
  return within(low, high, Dtype::kI64);
}

IndexRange range_of(const Affine& a, const KnownRanges& known) {
  Wide low = a.offset, high = a.offset;
  for (const AffineTerm& term : a.terms) {
    const IndexRange iter = known.of_iter(term.iter);
    low += std::min(Wide{term.coef} * iter.low, Wide{term.coef} * iter.high);
    high += std::max(Wide{term.coef} * iter.low, Wide{term.coef} * iter.high);
  }
  return within(low, high, Dtype::kI64);
}

}  // namespace lathe::ir
