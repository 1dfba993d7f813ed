#include "tuner/measure/bounds.h"

#include <cmath>
#include <limits>
#include <variant>

#include "compiler/interp/scalar.h"
#include "tuner/measure/arithmetic.h"

namespace lathe::measure {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::UnaryOp;
using namespace f64;

constexpr double kUnknown = std::numeric_limits<double>::infinity();
// Bounds are widened by this factor before they are compared, so that a number exactly at its bound
// counts as beyond it.
constexpr double kMargin = 1 + 1e-6;

Expr nothing() { return number(0); }

// `units` units in the last place of x in the type; unknown where x has left its range, none for
// infinity and NaN.
Expr rounding(const Expr& x, Dtype dtype, double units = 1) {
  const double relative = units * (interp::unit_of(1, dtype) - interp::unit_of(0, dtype));
  const Expr error = plus(times(size(x), relative), number(units * interp::unit_of(0, dtype)));
  const Expr beyond = dtype == Dtype::kF64
                          ? nothing()
                          : where(below(size(x), number(kUnknown)), number(kUnknown), nullptr);
  return where(at_most(size(x), number(interp::largest_of(dtype))), error, beyond);
}

// How many steps lie within `bound` of x, whose distance to the nearest is `gap`.
Expr steps(const Expr& bound, Expr gap) {
  return larger(nothing(), apply(UnaryOp::kCeil, minus(times(bound, kMargin), std::move(gap))));
}

// What is left of a bound if the number lies `past` the point that cuts it off.
Expr less(const Expr& bound, Expr past) {
  return bound ? larger(nothing(), minus(bound, larger(nothing(), std::move(past)))) : nullptr;
}

struct Ends {
  double low, high;
};
Ends ends_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kI8: return {-128, 127};
    case Dtype::kU8: return {0, 255};
    case Dtype::kI16: return {-0x1p15, 0x1p15 - 1};
    case Dtype::kU16: return {0, 0x1p16 - 1};
    case Dtype::kU32: return {0, 0x1p32 - 1};
    case Dtype::kI32: return {-0x1p31, 0x1p31 - 1};
    default: return {-0x1p53, 0x1p53};
  }
}

// True if a cast to a floating-point type rounds.
bool narrows(Dtype from, Dtype to) {
  if (!is_float(to) || to == Dtype::kF64 || from == Dtype::kBool)
    return to == Dtype::kF64 && from == Dtype::kI64;
  if (is_float(from)) return to != Dtype::kF32 || from == Dtype::kF64;
  return size_of(from) > (to == Dtype::kF32 ? 2 : 1);  // 8 bits fit into every type
}

}  // namespace

Dtype widened(Dtype dtype) { return is_float(dtype) ? Dtype::kF64 : dtype; }

Expr Bounds::value(const Expr& e) const {
  struct Visitor {
    const Bounds& self;
    const Expr& e;
    Expr operator()(const ir::Const& n) const { return ir::constant(n.value, widened(e->dtype)); }
    Expr operator()(const ir::IterValue&) const { return e; }
    Expr operator()(const ir::InRange&) const { return e; }
    Expr operator()(const ir::Read& n) const {
      return ir::read(n.tensor, n.index, widened(e->dtype), n.pad);
    }
    Expr operator()(const ir::Lookup& n) const {
      std::vector<Expr> index;
      for (const Expr& row : n.index) index.push_back(self.value(row));
      return ir::lookup(n.tensor, std::move(index), widened(e->dtype), n.pad);
    }
    Expr operator()(const ir::Unary& n) const { return ir::unary(n.op, self.value(n.x)); }
    Expr operator()(const ir::Binary& n) const {
      return ir::binary(n.op, self.value(n.a), self.value(n.b));
    }
    Expr operator()(const ir::Select& n) const {
      return ir::select(self.value(n.condition), self.value(n.then), self.value(n.otherwise));
    }
    Expr operator()(const ir::Cast& n) const {
      Expr x = self.value(n.x);
      return ir::cast(
          narrows(n.x->dtype, e->dtype) ? ir::cast(std::move(x), e->dtype) : std::move(x),
          widened(e->dtype));
    }
  };
  return std::visit(Visitor{*this, e}, e->value);
}

Expr Bounds::bound(const Expr& e) {
  if (e->dtype == Dtype::kBool) return where(doubt(e), number(1), nullptr);
  if (const auto* n = std::get_if<ir::Read>(&e->value)) {
    const int tensor = by_tensor_[static_cast<std::size_t>(n->tensor)];
    return tensor < 0 ? nullptr
                      : ir::read(tensor, n->index, Dtype::kF64,
                                 n->pad ? std::optional(0.0) : std::nullopt);
  }
  if (const auto* n = std::get_if<ir::Lookup>(&e->value)) return bound_of(e, *n);
  if (const auto* n = std::get_if<ir::Unary>(&e->value)) return bound_of(e, *n);
  if (const auto* n = std::get_if<ir::Binary>(&e->value)) return bound_of(e, *n);
  if (const auto* n = std::get_if<ir::Select>(&e->value)) return bound_of(e, *n);
  if (const auto* n = std::get_if<ir::Cast>(&e->value)) return bound_of(e, *n);
  return nullptr;
}

// Of the element at the indices' values; null: it is exact.
Expr Bounds::element_bound(const ir::Lookup& n) const {
  const int tensor = by_tensor_[static_cast<std::size_t>(n.tensor)];
  if (tensor < 0) return nullptr;
  std::vector<Expr> index;
  for (const Expr& row : n.index) index.push_back(value(row));
  return ir::lookup(tensor, std::move(index), Dtype::kF64,
                    n.pad ? std::optional(0.0) : std::nullopt);
}

// Above 0 where roundings may decide which element it is; null: they never do.
Expr Bounds::bound_of_place(const ir::Lookup& n) {
  Expr all;
  for (const Expr& row : n.index) all = plus(all, bound(row));
  jumps_ = jumps_ || all;
  return all;
}

Expr Bounds::bound_of(const Expr&, const ir::Lookup& n) {
  const Expr place = bound_of_place(n), own = element_bound(n);
  return place ? where(at_most(place, nothing()), own, number(kUnknown)) : own;
}

Expr Bounds::wrapped(const Expr& value, const Expr& bound, Dtype dtype) {
  if (!bound) return nullptr;
  const auto [low, high] = ends_of(dtype);
  const Expr middle = minus(ir::cast(value, Dtype::kF64), number((low + high) / 2));
  return where(at_most(plus(size(middle), bound), number((high - low) / 2)), bound,
               number(kUnknown));
}

Expr Bounds::bound_of(const Expr& e, const ir::Unary& n) {
  Expr d = bound(n.x);
  if (!is_float(e->dtype)) {
    if (n.op == UnaryOp::kSign && d) {
      jumps_ = true;
      return number(2);
    }
    return wrapped(value(e), d, e->dtype);
  }
  const Expr x = value(n.x), f = value(e);
  const auto function = [&](Expr moved) {
    return plus(d ? std::move(moved) : nullptr, rounding(f, e->dtype, interp::kFunctionUnits));
  };
  // These take the side on which the function is steeper. A null d is only ever added.
  const auto upwards = [&] { return minus(apply(n.op, plus(x, d)), f); };
  const auto downwards = [&] { return minus(f, apply(n.op, minus(x, d))); };
  switch (n.op) {
    case UnaryOp::kNeg:
    case UnaryOp::kAbs: return d;
    case UnaryOp::kExp: return function(upwards());
    case UnaryOp::kLog:
    case UnaryOp::kSqrt: return function(downwards());
    case UnaryOp::kRsqrt: return function(minus(apply(n.op, minus(x, d)), f));
    case UnaryOp::kTanh: return function(d);
    case UnaryOp::kErf: return function(times(d, 1.13));  // 2 / sqrt(pi)
    case UnaryOp::kSigmoid: return function(times(d, 0.25));
    case UnaryOp::kFloor:
    case UnaryOp::kCeil: {
      if (!d) return nullptr;
      jumps_ = true;
      const Expr whole = apply(UnaryOp::kFloor, x);
      return steps(d, smaller(minus(x, whole), minus(plus(whole, number(1)), x)));
    }
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan: return trigonometric_bound(e, n);
    case UnaryOp::kLog1p: return function(downwards());
    case UnaryOp::kExpm1: return function(upwards());
    case UnaryOp::kRound: {
      if (!d) return nullptr;
      jumps_ = true;
      return steps(d, minus(number(0.5), size(minus(x, f))));
    }
    case UnaryOp::kSign: {
      if (!d) return nullptr;
      jumps_ = true;
      return where(below(times(d, kMargin), size(x)), nullptr, number(2));
    }
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf:
    case UnaryOp::kBitNot:
    case UnaryOp::kNot: break;
  }
  broken_invariant(__FILE__, __LINE__, "unary operator out of range");
}

// sin and cos move at most as far as x does, and tan by d / cos^2, where it is steepest.
Expr Bounds::trigonometric_bound(const Expr& e, const ir::Unary& n) {
  const Expr d = bound(n.x), x = value(n.x);
  const Expr known = d ? below(d, number(kUnknown)) : nullptr;
  Expr moved = d, beyond = number(2 + interp::unit_of(1, e->dtype));
  if (d) beyond = where(known, beyond, number(kUnknown));
  if (n.op == UnaryOp::kTan) {
    beyond = number(kUnknown);
    const Expr room = d ? larger(nothing(), minus(size(apply(UnaryOp::kCos, x)), d)) : nullptr;
    moved = d ? over(d, times(room, room)) : nullptr;
  }
  const Expr near = plus(moved, rounding(value(e), e->dtype, interp::kFunctionUnits));
  // The size of infinity and NaN is not below infinity: there the result is NaN.
  const Expr far = both(below(number(ir::trigonometric_limit(e->dtype)), plus(size(x), d)),
                        below(size(x), number(kUnknown)));
  return where(far, beyond, near);
}

Expr Bounds::bound_of(const Expr& e, const ir::Binary& n) {
  if (n.op == BinaryOp::kMin || n.op == BinaryOp::kMax)
    return largest_bound(n.a, n.b, n.op == BinaryOp::kMin);
  if (!is_float(e->dtype)) return integer_bound(e, n);
  if (n.op == BinaryOp::kPow) return power_bound(e, n);
  const Expr da = bound(n.a), db = bound(n.b), a = value(n.a), b = value(n.b), v = value(e);
  Expr moved;
  switch (n.op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: moved = plus(da, db); break;
    case BinaryOp::kMul:
      moved = da && db ? minus(times(plus(size(a), da), plus(size(b), db)), size(v))
                       : plus(times(da, size(b)), times(db, size(a)));
      break;
    case BinaryOp::kDiv:
      // (d(a) + |v| d(b)) / (|b| - d(b)); unknown where b may be 0.
      moved = db ? minus(over(plus(size(a), da), larger(minus(size(b), db), nothing())), size(v))
                 : over(da, size(b));
      break;
    default: broken_invariant(__FILE__, __LINE__, "an operation on a type it does not have");
  }
  return plus(moved, rounding(v, e->dtype));
}

Expr Bounds::power_bound(const Expr& e, const ir::Binary& n) {
  const Expr da = bound(n.a), db = bound(n.b), a = size(value(n.a)), b = value(n.b), v = value(e);
  const Expr log = apply(UnaryOp::kLog, larger(a, number(1e-300)));
  Expr error = rounding(v, e->dtype, interp::kFunctionUnits);
  if (e->dtype == Dtype::kF64)  // the rounding of the exponent shows
    error =
        plus(error, times(size(times(v, times(b, log))), 2 * (interp::unit_of(1, Dtype::kF64))));
  if (!da && !db) return error;
  const Expr base = da ? minus(log, apply(UnaryOp::kLog, minus(a, da))) : nullptr;
  const Expr exponent = plus(times(base, plus(size(b), db)), times(db, size(log)));
  return plus(times(size(v), minus(apply(UnaryOp::kExp, exponent), number(1))), error);
}

// An operand far below the other does not matter.
Expr Bounds::largest_bound(const Expr& a, const Expr& b, bool smallest) {
  const Expr x = ir::cast(value(a), Dtype::kF64), y = ir::cast(value(b), Dtype::kF64);
  const Expr a_below = smallest ? minus(x, y) : minus(y, x),
             b_below = smallest ? minus(y, x) : minus(x, y);
  return larger(less(bound(a), a_below), less(bound(b), b_below));
}

Expr Bounds::integer_bound(const Expr& e, const ir::Binary& n) {
  const Expr da = bound(n.a), db = bound(n.b);
  if (!da && !db) return nullptr;
  const Expr a = size(ir::cast(value(n.a), Dtype::kF64)),
             b = size(ir::cast(value(n.b), Dtype::kF64));
  switch (n.op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return wrapped(value(e), plus(da, db), e->dtype);
    case BinaryOp::kMul:
      return wrapped(value(e), minus(times(plus(a, da), plus(b, db)), times(a, b)), e->dtype);
    case BinaryOp::kDiv: return db ? number(kUnknown) : apply(UnaryOp::kCeil, over(da, b));
    case BinaryOp::kMod:
      return db ? number(kUnknown) : where(at_most(da, nothing()), nullptr, times(b, 2));
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kShl:
    case BinaryOp::kShr: return where(at_most(plus(da, db), nothing()), nullptr, number(kUnknown));
    default: break;
  }
  broken_invariant(__FILE__, __LINE__, "an operation on a type it does not have");
}

Expr Bounds::bound_of(const Expr& e, const ir::Select& n) {
  const Expr unsure = doubt(n.condition), c = value(n.condition);
  const Expr then = bound(n.then), otherwise = bound(n.otherwise);
  if (!unsure) return where(c, then, otherwise);
  const auto real = [&](const Expr& x) { return ir::cast(value(x), Dtype::kF64); };
  const Expr apart = where(unsure, size(minus(real(n.then), real(n.otherwise))), nullptr);
  const Expr first = then ? where(either(c, unsure), then, nullptr) : nullptr;
  const Expr second = otherwise ? where(either(opposite(c), unsure), otherwise, nullptr) : nullptr;
  LATHE_CHECK(e->dtype != Dtype::kBool);
  return plus(larger(first, second), apart);
}

Expr Bounds::bound_of(const Expr& e, const ir::Cast& n) {
  const Dtype from = n.x->dtype, to = e->dtype;
  if (from == Dtype::kBool) return bound(n.x);
  if (!is_float(to))
    return is_float(from) ? truncated_bound(n, to) : wrapped(value(e), bound(n.x), to);
  Expr d = bound(n.x);
  if (!d || !narrows(from, to)) return d;
  return plus(d, rounding(ir::cast(value(n.x), Dtype::kF64), to));
}

// There is a step at every whole number but 0, and none beyond the ends of the range.
Expr Bounds::truncated_bound(const ir::Cast& n, Dtype to) {
  const Expr d = bound(n.x);
  if (!d) return nullptr;
  jumps_ = true;
  const auto [low, high] = ends_of(to);
  const Expr x = value(n.x);
  const Expr within = size(smaller(larger(x, number(low)), number(high)));
  const Expr whole = apply(UnaryOp::kFloor, within), above = minus(plus(whole, number(1)), within);
  const Expr gap = where(below(within, number(1)), above, smaller(minus(within, whole), above));
  return steps(less(d, larger(minus(x, number(high)), minus(number(low), x))), gap);
}

// NaN alone makes no doubt; the operands need a bound.
Expr Bounds::doubtful(const Expr& a, const Expr& b) {
  const Expr d = plus(bound(a), bound(b));
  if (!d) return nullptr;
  jumps_ = true;
  const auto real = [&](const Expr& x) { return ir::cast(value(x), Dtype::kF64); };
  return opposite(at_most(times(d, kMargin), size(minus(real(a), real(b)))));
}

Expr Bounds::doubt(const Expr& e) {
  if (const auto* n = std::get_if<ir::Read>(&e->value)) {
    const int tensor = by_tensor_[static_cast<std::size_t>(n->tensor)];
    if (tensor < 0) return nullptr;
    const Expr d =
        ir::read(tensor, n->index, Dtype::kF64, n->pad ? std::optional(0.0) : std::nullopt);
    return opposite(at_most(d, nothing()));
  }
  if (const auto* n = std::get_if<ir::Lookup>(&e->value)) {
    const Expr place = bound_of_place(*n), own = element_bound(*n);
    return either(place ? opposite(at_most(place, nothing())) : nullptr,
                  own ? opposite(at_most(own, nothing())) : nullptr);
  }
  if (const auto* n = std::get_if<ir::Unary>(&e->value)) {
    if (n->op == UnaryOp::kNot) return doubt(n->x);
    const Expr d = bound(n->x);  // isnan and isinf
    if (!d) return nullptr;
    jumps_ = true;
    return opposite(below(d, number(kUnknown)));
  }
  if (const auto* n = std::get_if<ir::Cast>(&e->value))
    return n->x->dtype == Dtype::kBool ? doubt(n->x) : doubtful(n->x, ir::constant(0, n->x->dtype));
  if (const auto* n = std::get_if<ir::Select>(&e->value)) {
    const Expr unsure = doubt(n->condition), c = value(n->condition), then = doubt(n->then),
               otherwise = doubt(n->otherwise);
    const Expr differ =
        unsure ? ir::binary(BinaryOp::kNe, value(n->then), value(n->otherwise)) : nullptr;
    return either(both(unsure, differ), either(both(either(c, unsure), then),
                                               both(either(opposite(c), unsure), otherwise)));
  }
  const auto* n = std::get_if<ir::Binary>(&e->value);
  if (n == nullptr) return nullptr;
  const bool is_or = n->op == BinaryOp::kOr;
  if (n->a->dtype != Dtype::kBool) return doubtful(n->a, n->b);
  const Expr first = doubt(n->a), second = doubt(n->b);
  if ((n->op != BinaryOp::kAnd && !is_or) || (first && second)) return either(first, second);
  // The other operand is certain and may decide alone.
  const Expr other = first || second ? value(first ? n->b : n->a) : nullptr;
  return other ? both(is_or ? opposite(other) : other, either(first, second)) : nullptr;
}

}  // namespace lathe::measure
