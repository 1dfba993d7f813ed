#include "compiler/te/narrowing.h"

#include <algorithm>
#include <limits>

namespace lathe::te {
namespace {

using ir::Expr;

struct Narrow {
  Expr expr;         // i32
  double low, high;  // of its values; exact, for they are sums and products of small numbers
};

std::optional<Narrow> within(Expr expr, double low, double high) {
  constexpr double kLow = std::numeric_limits<std::int32_t>::min();
  constexpr double kHigh = std::numeric_limits<std::int32_t>::max();
  if (low < kLow || high > kHigh) return {};
  return Narrow{std::move(expr), low, high};
}

struct Narrower {
  std::span<const Iterator> iters;

  std::optional<Narrow> of(const Expr& e) const {
    if (e->dtype != Dtype::kI64) return {};
    return std::visit(*this, e->value);
  }

  std::optional<Narrow> operator()(const ir::Const& n) const {
    return within(ir::constant(n.value, Dtype::kI32), n.value, n.value);
  }
  std::optional<Narrow> operator()(const ir::IterValue& n) const {
    const auto extent = static_cast<double>(iters[static_cast<std::size_t>(n.iter)].extent);
    return within(ir::cast(ir::iter_value(n.iter), Dtype::kI32), 0, extent - 1);
  }
  std::optional<Narrow> operator()(const ir::Binary& n) const {
    const auto a = of(n.a), b = of(n.b);
    if (!a || !b) return {};
    const Expr e = ir::binary(n.op, a->expr, b->expr);
    switch (n.op) {
      case ir::BinaryOp::kAdd: return within(e, a->low + b->low, a->high + b->high);
      case ir::BinaryOp::kSub: return within(e, a->low - b->high, a->high - b->low);
      case ir::BinaryOp::kMin:
        return Narrow{e, std::min(a->low, b->low), std::min(a->high, b->high)};
      case ir::BinaryOp::kMax:
        return Narrow{e, std::max(a->low, b->low), std::max(a->high, b->high)};
      case ir::BinaryOp::kMul: {
        const auto [low, high] =
            std::minmax({a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
        return within(e, low, high);
      }
      default: return {};
    }
  }
  std::optional<Narrow> operator()(const ir::Select& n) const {
    const auto then = of(n.then), otherwise = of(n.otherwise);
    if (!then || !otherwise) return {};
    return Narrow{ir::select(n.condition, then->expr, otherwise->expr),
                  std::min(then->low, otherwise->low), std::max(then->high, otherwise->high)};
  }
  template <class Other>
  std::optional<Narrow> operator()(const Other&) const {
    return {};
  }
};

}  // namespace

std::optional<Expr> narrowed(const Expr& e, std::span<const Iterator> iters) {
  const auto narrow = Narrower{iters}.of(e);
  if (!narrow) return {};
  return narrow->expr;
}

}  // namespace lathe::te
