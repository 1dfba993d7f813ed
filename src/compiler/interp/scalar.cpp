#include "compiler/interp/scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lathe::interp {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// For each floating-point type, in the order of Dtype: twice the round-off, the distance of the
// smallest numbers, and the largest number.
struct Format {
  double relative, step, largest;
};
constexpr Format kFormats[] = {{0x1p-23, 0x1p-149, 0x1.fffffep127},
                               {0x1p-52, 0x1p-1074, std::numeric_limits<double>::max()},
                               {0x1p-10, 0x1p-24, 65504},
                               {0x1p-7, 0x1p-133, 0x1.fep127}};
static_assert(static_cast<int>(Dtype::kF32) == 0 && static_cast<int>(Dtype::kF64) == 1 &&
              static_cast<int>(Dtype::kF16) == 2 && static_cast<int>(Dtype::kBF16) == 3);
const Format& format_of(Dtype dtype) { return kFormats[static_cast<int>(dtype)]; }

struct Range {
  double low, high;
};
Range range_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kI8: return {-128, 127};
    case Dtype::kU8: return {0, 255};
    case Dtype::kI16: return {-0x1p15, 0x1p15 - 1};
    case Dtype::kU16: return {0, 0x1p16 - 1};
    case Dtype::kU32: return {0, 0x1p32 - 1};
    case Dtype::kI32: return {-0x1p31, 0x1p31 - 1};
    case Dtype::kBool: return {0, 1};
    default: return {-0x1p53, 0x1p53};  // beyond, f64 does not hold every integer
  }
}

// x * d, where any x times no error is no error.
double times(double x, double d) { return d == 0 ? 0 : x * d; }

// A real result whose operands' errors move it by `moved`.
Value rounded(double value, double moved, Dtype dtype, double units = 1) {
  if (!(moved < kInf)) return {value, kInf};
  const Format& format = format_of(dtype);
  const double bound = moved + units * (format.relative * std::abs(value) + format.step);
  if (std::abs(value) + bound <= format.largest) return {value, bound};
  return {value, std::isfinite(value) ? kInf : 0};
}

// An integer result; where an error may wrap it around, anything is possible.
Value integer(std::int64_t value, double bound, Dtype dtype) {
  const double v = wrap(value, dtype);
  const auto [low, high] = range_of(dtype);
  const bool known = bound == 0 ? dtype != Dtype::kI64 || std::abs(v) <= high
                                : v - bound >= low && v + bound <= high;
  return {v, known ? bound : kInf};
}

std::int64_t to_integer(double value, Dtype dtype) {
  if (std::isnan(value)) return 0;
  if (dtype == Dtype::kI64) return whole(value);
  const auto [low, high] = range_of(dtype);
  return static_cast<std::int64_t>(std::clamp(value, low, high));
}

// True if the type holds every number of the other type.
bool is_wider(Dtype dtype, Dtype other) {
  return dtype == Dtype::kF64 || (dtype == Dtype::kF32 && other != Dtype::kF64);
}

// How far a rising function moves within the bound of x.
template <class F>
Value stepped(const Value& x, const F& f) {
  const double at = f(x.value);
  if (x.bound == 0) return {at, 0};
  if (!(x.bound < kInf)) return {at, kInf};  // x may be NaN, or else what it is not
  const double moved = std::max(f(x.value + x.bound) - at, at - f(x.value - x.bound));
  return {at, std::isnan(moved) ? kInf : moved};
}

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x + 0; }

// sin and cos move at most as far as x does. tan moves by d / cos^2, where it is steepest.
Value trigonometric(ir::UnaryOp op, const Value& x, Dtype dtype) {
  const double v = x.value, d = x.bound;
  const double f = op == ir::UnaryOp::kSin   ? std::sin(v)
                   : op == ir::UnaryOp::kCos ? std::cos(v)
                                             : std::tan(v);
  const bool far = std::isfinite(v) && std::abs(v) + d > ir::trigonometric_limit(dtype);
  if (op != ir::UnaryOp::kTan)
    return far && d < kInf ? Value{f, 2 + unit_of(1, dtype)} : rounded(f, d, dtype, kFunctionUnits);
  if (far) return {f, kInf};
  const double room = std::abs(std::cos(v)) - d;
  return rounded(f, d == 0 ? 0 : room > 0 ? d / (room * room) : kInf, dtype, kFunctionUnits);
}

Value real_unary(ir::UnaryOp op, const Value& x, Dtype dtype) {
  const double v = x.value, d = x.bound;
  const auto function = [&](double f, double moved) {
    return rounded(f, d == 0 ? 0 : moved, dtype, kFunctionUnits);
  };
  switch (op) {
    case ir::UnaryOp::kNeg: return {-v, d};
    case ir::UnaryOp::kAbs: return {std::abs(v), d};
    case ir::UnaryOp::kExp: return function(std::exp(v), std::exp(v + d) - std::exp(v));
    case ir::UnaryOp::kLog: return function(std::log(v), std::log(v) - std::log(v - d));
    case ir::UnaryOp::kSqrt: return function(std::sqrt(v), std::sqrt(v) - std::sqrt(v - d));
    case ir::UnaryOp::kRsqrt:
      return function(1 / std::sqrt(v), 1 / std::sqrt(v - d) - 1 / std::sqrt(v));
    case ir::UnaryOp::kTanh: return function(std::tanh(v), d);
    case ir::UnaryOp::kErf: return function(std::erf(v), 1.13 * d);  // 2 / sqrt(pi)
    case ir::UnaryOp::kSigmoid: return function(1 / (1 + std::exp(-v)), 0.25 * d);
    case ir::UnaryOp::kFloor: return stepped(x, [](double y) { return std::floor(y); });
    case ir::UnaryOp::kCeil: return stepped(x, [](double y) { return std::ceil(y); });
    case ir::UnaryOp::kSin:
    case ir::UnaryOp::kCos:
    case ir::UnaryOp::kTan: return trigonometric(op, x, dtype);
    case ir::UnaryOp::kLog1p: return function(std::log1p(v), std::log1p(v) - std::log1p(v - d));
    case ir::UnaryOp::kExpm1: return function(std::expm1(v), std::expm1(v + d) - std::expm1(v));
    case ir::UnaryOp::kRound: return stepped(x, [](double y) { return std::nearbyint(y); });
    case ir::UnaryOp::kSign: return stepped(x, sign_of);
    case ir::UnaryOp::kIsNan: return {std::isnan(v) ? 1.0 : 0.0, d < kInf ? 0.0 : 1.0};
    case ir::UnaryOp::kIsInf: return {std::isinf(v) ? 1.0 : 0.0, d < kInf ? 0.0 : 1.0};
    case ir::UnaryOp::kBitNot:
    case ir::UnaryOp::kNot: break;
  }
  return x;
}

Value product(const Value& a, const Value& b, Dtype dtype) {
  const double v = a.value * b.value;
  // Where a product that overflows is added to something in one step (fma), it does not overflow:
  // infinity plus it is infinity, not NaN.
  const bool overflows = std::isinf(v) && std::isfinite(a.value) && std::isfinite(b.value);
  const bool open =
      overflows || (a.filler && !std::isfinite(b.value)) || (b.filler && !std::isfinite(a.value));
  const double moved =
      times(std::abs(a.value), b.bound) + times(std::abs(b.value) + b.bound, a.bound);
  Value out = rounded(v, open ? kInf : moved, dtype);
  out.filler = a.filler || b.filler;
  return out;
}

Value quotient(const Value& a, const Value& b, Dtype dtype) {
  const double v = a.value / b.value;
  if (a.bound == 0 && b.bound == 0) return rounded(v, 0, dtype);
  const double room = std::abs(b.value) - b.bound;
  return rounded(v, room > 0 ? (a.bound + times(std::abs(v), b.bound)) / room : kInf, dtype);
}

// e^(y log x). In f64 the error of the exponent shows; f32 is computed by way of f64.
Value power(const Value& a, const Value& b, Dtype dtype) {
  const double v = std::pow(a.value, b.value), size = std::abs(a.value);
  const double log = size > 0 ? std::log(size) : 0;
  const double units =
      kFunctionUnits +
      (dtype == Dtype::kF64 && std::isfinite(log * b.value) ? 2 * std::abs(log * b.value) : 0);
  if (a.bound == 0 && b.bound == 0) return rounded(v, 0, dtype, units);
  if (!(size > a.bound)) return {v, kInf};
  const double base = std::log(size) - std::log(size - a.bound);
  const double exponent = times(std::abs(b.value) + b.bound, base) + times(std::abs(log), b.bound);
  return rounded(v, std::abs(v) * std::expm1(exponent), dtype, units);
}

// The larger value. For the smaller, negate both operands.
Value largest(const Value& a, const Value& b) {
  const double v = std::isnan(a.value) || a.value > b.value ? a.value : b.value;
  const double by_a = a.bound == 0 ? 0 : a.bound - std::max(0.0, b.value - a.value);
  const double by_b = b.bound == 0 ? 0 : b.bound - std::max(0.0, a.value - b.value);
  const double bound = std::max({0.0, by_a, by_b});
  return {v, std::isnan(by_a) || std::isnan(by_b) ? kInf : bound};
}

Value real_binary(ir::BinaryOp op, const Value& a, const Value& b, Dtype dtype) {
  switch (op) {
    case ir::BinaryOp::kAdd: return rounded(a.value + b.value, a.bound + b.bound, dtype);
    case ir::BinaryOp::kSub: return rounded(a.value - b.value, a.bound + b.bound, dtype);
    case ir::BinaryOp::kMul: return product(a, b, dtype);
    case ir::BinaryOp::kDiv: return quotient(a, b, dtype);
    case ir::BinaryOp::kPow: return power(a, b, dtype);
    case ir::BinaryOp::kMax: return largest(a, b);
    case ir::BinaryOp::kMin: {
      const Value v = largest({-a.value, a.bound}, {-b.value, b.bound});
      return {-v.value, v.bound};
    }
    default: return {std::fmod(a.value, b.value), kInf};
  }
}

Value integer_binary(ir::BinaryOp op, const Value& a, const Value& b, Dtype dtype) {
  const std::int64_t x = whole(a.value), y = whole(b.value);
  const auto ux = static_cast<std::uint64_t>(x), uy = static_cast<std::uint64_t>(y);
  const auto wrapped = [&](std::uint64_t v, double bound) {
    return integer(static_cast<std::int64_t>(v), bound, dtype);
  };
  // Of operands that are not exact, bits may be any.
  const double bits_bound = a.bound > 0 || b.bound > 0 ? kInf : 0;
  const bool inside = y >= 0 && y < 8 * size_of(dtype);  // that is, some bits stay
  switch (op) {
    case ir::BinaryOp::kAdd: return wrapped(ux + uy, a.bound + b.bound);
    case ir::BinaryOp::kSub: return wrapped(ux - uy, a.bound + b.bound);
    case ir::BinaryOp::kMul:
      return wrapped(
          ux * uy, times(std::abs(a.value), b.bound) + times(std::abs(b.value) + b.bound, a.bound));
    case ir::BinaryOp::kDiv:
      return wrapped(y == 0    ? 0
                     : y == -1 ? -ux
                               : static_cast<std::uint64_t>(x / y),
                     b.bound > 0 ? kInf : std::ceil(a.bound / std::abs(b.value)));
    case ir::BinaryOp::kMod:
      return wrapped(y == 0 || y == -1 ? 0 : static_cast<std::uint64_t>(x % y),
                     b.bound > 0   ? kInf
                     : a.bound > 0 ? 2 * std::abs(b.value)
                                   : 0);
    case ir::BinaryOp::kMin: return wrapped(x < y ? ux : uy, std::max(a.bound, b.bound));
    case ir::BinaryOp::kBitAnd: return wrapped(ux & uy, bits_bound);
    case ir::BinaryOp::kBitOr: return wrapped(ux | uy, bits_bound);
    case ir::BinaryOp::kBitXor: return wrapped(ux ^ uy, bits_bound);
    case ir::BinaryOp::kShl: return wrapped(inside ? ux << y : 0, bits_bound);
    case ir::BinaryOp::kShr:
      return wrapped(static_cast<std::uint64_t>(x >> (inside ? y : 63)), bits_bound);
    default: return wrapped(x < y ? uy : ux, std::max(a.bound, b.bound));
  }
}

Value compare(ir::BinaryOp op, const Value& a, const Value& b) {
  const double doubt = a.bound + b.bound;
  const bool either = doubt > 0 && (!(doubt < kInf) || std::abs(a.value - b.value) <= doubt);
  bool holds = false;
  switch (op) {
    case ir::BinaryOp::kLt: holds = a.value < b.value; break;
    case ir::BinaryOp::kLe: holds = a.value <= b.value; break;
    case ir::BinaryOp::kEq: holds = a.value == b.value; break;
    default: holds = a.value != b.value;
  }
  return {holds ? 1.0 : 0.0, either ? 1.0 : 0.0};
}

Value logic(ir::BinaryOp op, const Value& a, const Value& b) {
  const auto may_be = [](const Value& x, bool what) {
    return (x.value != 0) == what || x.bound > 0;
  };
  const bool yes =
      op == ir::BinaryOp::kAnd ? a.value != 0 && b.value != 0 : a.value != 0 || b.value != 0;
  const bool may_hold = op == ir::BinaryOp::kAnd ? may_be(a, true) && may_be(b, true)
                                                 : may_be(a, true) || may_be(b, true);
  const bool may_fail = op == ir::BinaryOp::kAnd ? may_be(a, false) || may_be(b, false)
                                                 : may_be(a, false) && may_be(b, false);
  return {yes ? 1.0 : 0.0, may_hold && may_fail ? 1.0 : 0.0};
}

struct Evaluator {
  Environment& environment;
  Dtype dtype;

  Value eval(const ir::Expr& e) const {
    return std::visit(Evaluator{environment, e->dtype}, e->value);
  }

  Value operator()(const ir::Const& n) const { return exact(n.value); }
  Value operator()(const ir::IterValue& n) const {
    return exact(static_cast<double>(environment.iter(n.iter)));
  }
  Value operator()(const ir::Read& n) const { return environment.read(n, dtype); }
  Value operator()(const ir::Lookup& n) const {
    std::vector<Value> index;
    for (const ir::Expr& row : n.index) index.push_back(eval(row));
    return looked_up(
        index, environment.shape_of(n.tensor), n.pad.has_value(),
        [&](std::span<const std::int64_t> at) { return environment.element(n.tensor, at, n.pad); });
  }
  Value operator()(const ir::InRange& n) const {
    const bool inside = std::ranges::all_of(n.rows, [&](const ir::InRange::Row& row) {
      const std::int64_t index = environment.at(row.index);
      return index >= row.low && index < row.high;
    });
    return exact(inside ? 1 : 0);
  }
  Value operator()(const ir::Unary& n) const { return apply(n.op, eval(n.x), n.x->dtype); }
  Value operator()(const ir::Binary& n) const {
    return apply(n.op, eval(n.a), eval(n.b), n.a->dtype);
  }
  // Only the branch taken is evaluated: the other may read outside its tensor.
  Value operator()(const ir::Select& n) const {
    const Value condition = eval(n.condition);
    if (condition.bound == 0) return eval(condition.value != 0 ? n.then : n.otherwise);
    return choose(condition, eval(n.then), eval(n.otherwise));
  }
  Value operator()(const ir::Cast& n) const { return convert(eval(n.x), n.x->dtype, dtype); }
};

}  // namespace

double unit_of(double size, Dtype dtype) {
  return is_float(dtype) ? format_of(dtype).relative * std::abs(size) + format_of(dtype).step : 0;
}

double largest_of(Dtype dtype) {
  return is_float(dtype) ? format_of(dtype).largest : range_of(dtype).high;
}

Value apply(ir::UnaryOp op, const Value& x, Dtype dtype) {
  if (op == ir::UnaryOp::kNot) return {x.value == 0 ? 1.0 : 0.0, x.bound};
  if (is_float(dtype)) return real_unary(op, x, dtype);
  if (op == ir::UnaryOp::kSign) return stepped(x, sign_of);
  const auto value = static_cast<std::uint64_t>(whole(x.value));
  if (op == ir::UnaryOp::kBitNot)  // -1 - x
    return integer(static_cast<std::int64_t>(~value), x.bound, dtype);
  const bool negate = op == ir::UnaryOp::kNeg || x.value < 0;
  return integer(static_cast<std::int64_t>(negate ? -value : value), x.bound, dtype);
}

Value apply(ir::BinaryOp op, const Value& a, const Value& b, Dtype dtype) {
  if (op == ir::BinaryOp::kAnd || op == ir::BinaryOp::kOr) return logic(op, a, b);
  if (op >= ir::BinaryOp::kLt) return compare(op, a, b);
  return is_float(dtype) ? real_binary(op, a, b, dtype) : integer_binary(op, a, b, dtype);
}

Value choose(const Value& condition, const Value& then, const Value& otherwise) {
  const Value& chosen = condition.value != 0 ? then : otherwise;
  if (condition.bound == 0) return chosen;
  const Value& other = condition.value != 0 ? otherwise : then;
  const double bound = std::max(chosen.bound, std::abs(then.value - otherwise.value) + other.bound);
  return {chosen.value, std::isnan(bound) ? kInf : bound};
}

Value convert(const Value& x, Dtype from, Dtype to) {
  if (from == to) return x;
  if (to == Dtype::kBool) return compare(ir::BinaryOp::kNe, x, exact(0));
  if (is_float(to)) {
    if (is_float(from) && is_wider(to, from)) return x;
    std::uint64_t bits = 0;
    store_element(to, &bits, x.value);
    Value out = x.bound == 0 ? x : rounded(x.value, x.bound, to);
    out.value = load_element(to, &bits);
    out.filler = x.filler;
    return out;
  }
  if (!is_float(from)) return integer(whole(x.value), x.bound, to);
  return stepped(x, [&](double v) { return static_cast<double>(to_integer(v, to)); });
}

std::int64_t Environment::at(const ir::Affine& index) {
  std::int64_t out = index.offset;
  for (const ir::AffineTerm& term : index.terms) out += term.coef * iter(term.iter);
  return out;
}

Value evaluate(const ir::Expr& e, Environment& environment) {
  return Evaluator{environment, e->dtype}.eval(e);
}

Value exact(double value) { return {value, 0}; }

Value accumulate(ir::ReduceOp op, double so_far, double term, Dtype dtype) {
  const Value a = exact(so_far), b = exact(term);
  switch (op) {
    case ir::ReduceOp::kNone: return b;
    case ir::ReduceOp::kSum: return apply(ir::BinaryOp::kAdd, a, b, dtype);
    case ir::ReduceOp::kMax: return apply(ir::BinaryOp::kMax, a, b, dtype);
    case ir::ReduceOp::kMin: return apply(ir::BinaryOp::kMin, a, b, dtype);
    case ir::ReduceOp::kProd: return apply(ir::BinaryOp::kMul, a, b, dtype);
  }
  return b;
}

std::int64_t whole(double value) {
  if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  return value < -0x1p63 ? std::numeric_limits<std::int64_t>::min()
                         : static_cast<std::int64_t>(value);
}

double wrap(std::int64_t value, Dtype dtype) {
  switch (dtype) {
    case Dtype::kI8: return static_cast<std::int8_t>(value);
    case Dtype::kU8: return static_cast<std::uint8_t>(value);
    case Dtype::kI16: return static_cast<std::int16_t>(value);
    case Dtype::kU16: return static_cast<std::uint16_t>(value);
    case Dtype::kU32: return static_cast<std::uint32_t>(value);
    case Dtype::kI32: return static_cast<std::int32_t>(value);
    case Dtype::kBool: return value != 0 ? 1 : 0;
    default: return static_cast<double>(value);
  }
}

}  // namespace lathe::interp
