#include "compiler/interp/scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace lathe::interp {
namespace {

using ir::UnaryOp;

constexpr double kInf = std::numeric_limits<double>::infinity();
// Conditions and steps closer than this many bounds may fall either way in a real program.
constexpr double kDoubt = 64;

// Half the distance between the smallest numbers of the type.
double tiny_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16: return 0x1p-25;
    case Dtype::kF32:
    case Dtype::kBF16: return 0x1p-126;  // a machine may flush subnormals
    default: return 0;
  }
}

// NaN and infinity as bounds would say nothing; a value that is not finite must be met exactly in
// kind.
Value rounded(Value v, Dtype dtype, double roundings = 1) {
  v.bound += roundings * epsilon_of(dtype) * v.magnitude + tiny_of(dtype);
  return v;
}

std::int64_t whole(double value) {
  if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  return value < -0x1p63 ? std::numeric_limits<std::int64_t>::min()
                         : static_cast<std::int64_t>(value);
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
  Value operator()(const ir::InRange& n) const {
    const bool inside = std::ranges::all_of(n.rows, [&](const ir::InRange::Row& row) {
      const std::int64_t index = environment.at(row.index);
      return index >= row.low && index < row.high;
    });
    return exact(inside ? 1 : 0);
  }

  Value operator()(const ir::Unary& n) const {
    const Value x = eval(n.x);
    if (n.op == UnaryOp::kNot) return {x.value == 0 ? 1.0 : 0.0, 1, x.bound};
    if (is_float(dtype)) return real_function(n.op, x);
    const auto value = static_cast<std::uint64_t>(whole(x.value));
    const bool negate = n.op == UnaryOp::kNeg || x.value < 0;
    return exact(wrap(static_cast<std::int64_t>(negate ? -value : value), dtype));
  }

  // value f(x); slope bounds |f'| near x.
  Value function(double f, double slope, const Value& x) const {
    return rounded({f, std::abs(f), slope * x.bound}, dtype, 4);
  }

  Value real_function(UnaryOp op, const Value& x) const {
    const double v = x.value;
    switch (op) {
      case UnaryOp::kNeg: return {-v, x.magnitude, x.bound};
      case UnaryOp::kAbs: return {std::abs(v), x.magnitude, x.bound};
      case UnaryOp::kExp: return function(std::exp(v), std::exp(v + std::min(x.bound, 1.0)), x);
      case UnaryOp::kLog:
        return function(std::log(v), 1 / std::max(std::abs(v) - x.bound, tiny_of(dtype)), x);
      case UnaryOp::kSqrt: {
        Value out = function(std::sqrt(v), 0, x);
        out.bound +=
            v > 0 ? std::min(x.bound / std::sqrt(v), std::sqrt(x.bound)) : std::sqrt(x.bound);
        return out;
      }
      case UnaryOp::kRsqrt: return function(1 / std::sqrt(v), 1 / (v * std::sqrt(v)), x);
      case UnaryOp::kTanh: return function(std::tanh(v), 1, x);
      case UnaryOp::kErf: return function(std::erf(v), 2 / std::sqrt(std::numbers::pi), x);
      case UnaryOp::kSigmoid: return function(1 / (1 + std::exp(-v)), 0.25, x);
      case UnaryOp::kFloor: return step(std::floor(v), x);
      case UnaryOp::kCeil: return step(std::ceil(v), x);
      case UnaryOp::kNot: break;
    }
    return x;
  }

  static Value step(double v, const Value& x) {
    const bool doubtful =
        std::abs(x.value - std::nearbyint(x.value)) <= kDoubt * x.bound && x.bound > 0;
    return {v, std::abs(v), doubtful ? 1.0 : 0.0};
  }

  Value operator()(const ir::Binary& n) const {
    const Value a = eval(n.a), b = eval(n.b);
    if (n.op == ir::BinaryOp::kAnd || n.op == ir::BinaryOp::kOr) {
      const bool both = a.value != 0 && b.value != 0, any = a.value != 0 || b.value != 0;
      return {(n.op == ir::BinaryOp::kAnd ? both : any) ? 1.0 : 0.0, 1, std::max(a.bound, b.bound)};
    }
    if (n.op >= ir::BinaryOp::kLt) return compare(n.op, a, b);
    return is_float(dtype) ? real(n.op, a, b) : integer(n.op, a, b);
  }

  static Value compare(ir::BinaryOp op, const Value& a, const Value& b) {
    const double doubt = kDoubt * (a.bound + b.bound);
    const bool doubtful = doubt > 0 && std::abs(a.value - b.value) <= doubt;
    bool holds = false;
    switch (op) {
      case ir::BinaryOp::kLt: holds = a.value < b.value; break;
      case ir::BinaryOp::kLe: holds = a.value <= b.value; break;
      case ir::BinaryOp::kEq: holds = a.value == b.value; break;
      default: holds = a.value != b.value;
    }
    return {holds ? 1.0 : 0.0, 1, doubtful ? 1.0 : 0.0};
  }

  Value real(ir::BinaryOp op, const Value& a, const Value& b) const {
    const double ma = a.magnitude, mb = b.magnitude;
    switch (op) {
      case ir::BinaryOp::kAdd: return rounded({a.value + b.value, ma + mb, a.bound + b.bound}, dtype);
      case ir::BinaryOp::kSub: return rounded({a.value - b.value, ma + mb, a.bound + b.bound}, dtype);
      case ir::BinaryOp::kMul:
        return rounded({a.value * b.value, ma * mb, a.bound * mb + ma * b.bound}, dtype);
      case ir::BinaryOp::kDiv: {
        const double d = std::abs(b.value);
        return rounded({a.value / b.value, ma / d, a.bound / d + ma / (d * d) * b.bound}, dtype, 2);
      }
      case ir::BinaryOp::kPow: {
        const double p = std::pow(a.value, b.value);
        const double by_a = a.bound == 0 ? 0 : std::abs(b.value / a.value) * a.bound;
        const double by_b = b.bound == 0 ? 0 : std::abs(std::log(std::abs(a.value))) * b.bound;
        const double argument = a.value == 0 ? 0 : std::abs(b.value * std::log(std::abs(a.value)));
        return rounded({p, std::abs(p), std::abs(p) * (by_a + by_b)}, dtype, 4 + argument);
      }
      case ir::BinaryOp::kMin:
        return {std::fmin(a.value, b.value), std::max(ma, mb), std::max(a.bound, b.bound)};
      case ir::BinaryOp::kMax:
        return {std::fmax(a.value, b.value), std::max(ma, mb), std::max(a.bound, b.bound)};
      default: return {std::fmod(a.value, b.value), ma, a.bound + b.bound};
    }
  }

  Value integer(ir::BinaryOp op, const Value& a, const Value& b) const {
    const std::int64_t x = whole(a.value), y = whole(b.value);
    const auto ux = static_cast<std::uint64_t>(x), uy = static_cast<std::uint64_t>(y);
    const auto wrapped = [&](std::uint64_t v) {
      Value out = exact(wrap(static_cast<std::int64_t>(v), dtype));
      out.bound = a.bound + b.bound > 0 ? kInf : 0;  // after a doubtful rounding to an integer
      return out;
    };
    switch (op) {
      case ir::BinaryOp::kAdd: return wrapped(ux + uy);
      case ir::BinaryOp::kSub: return wrapped(ux - uy);
      case ir::BinaryOp::kMul: return wrapped(ux * uy);
      case ir::BinaryOp::kDiv:
        return wrapped(y == 0 ? 0 : y == -1 ? -ux : static_cast<std::uint64_t>(x / y));
      case ir::BinaryOp::kMod:
        return wrapped(y == 0 || y == -1 ? 0 : static_cast<std::uint64_t>(x % y));
      case ir::BinaryOp::kMin: return wrapped(x < y ? ux : uy);
      default: return wrapped(x < y ? uy : ux);
    }
  }

  // Only the branch taken is evaluated: the other may read outside its tensor.
  Value operator()(const ir::Select& n) const {
    const Value condition = eval(n.condition);
    if (condition.bound == 0) return eval(condition.value != 0 ? n.then : n.otherwise);
    const Value then = eval(n.then), otherwise = eval(n.otherwise);
    Value out = condition.value != 0 ? then : otherwise;
    out.bound = std::max(then.bound, otherwise.bound) + std::abs(then.value - otherwise.value);
    return out;
  }

  Value operator()(const ir::Cast& n) const {
    const Value x = eval(n.x);
    const Dtype from = n.x->dtype;
    if (dtype == Dtype::kBool) return compare(ir::BinaryOp::kNe, x, exact(0));
    if (is_float(dtype)) {
      const bool widens =
          epsilon_of(dtype) <= epsilon_of(from) && is_float(from) && dtype != Dtype::kF16;
      return widens || size_of(from) == 1 ? x : rounded(x, dtype);
    }
    if (!is_float(from)) {
      Value out = exact(wrap(whole(x.value), dtype));
      out.bound = x.bound;
      return out;
    }
    Value out = step(std::trunc(x.value), x);
    const double low = dtype == Dtype::kI8    ? -128
                       : dtype == Dtype::kU8  ? 0
                       : dtype == Dtype::kI32 ? -0x1p31
                                              : -0x1p63;
    const double high = dtype == Dtype::kI8    ? 127
                        : dtype == Dtype::kU8  ? 255
                        : dtype == Dtype::kI32 ? 0x1p31 - 1
                                               : 0x1p63;
    out.value = std::isnan(out.value) ? 0 : std::clamp(out.value, low, high);
    return out;
  }
};

}  // namespace

std::int64_t Environment::at(const ir::Affine& index) {
  std::int64_t out = index.offset;
  for (const ir::AffineTerm& term : index.terms) out += term.coef * iter(term.iter);
  return out;
}

Value evaluate(const ir::Expr& e, Environment& environment) {
  return Evaluator{environment, e->dtype}.eval(e);
}

Value exact(double value) { return {value, std::abs(value), 0}; }

Value identity(ir::ReduceOp op, Dtype dtype) {
  // The identity of min and max is no term: its magnitude must not count.
  const bool term = op == ir::ReduceOp::kProd;
  return {ir::identity_of(op, dtype), term ? 1.0 : 0.0, 0};
}

Value accumulate(ir::ReduceOp op, const Value& so_far, const Value& term, Dtype dtype) {
  struct None final : Environment {
    Value read(const ir::Read&, Dtype) override { return {}; }
    std::int64_t iter(int) override { return 0; }
  } none;
  const Evaluator evaluator{none, dtype};
  const auto combine = [&](ir::BinaryOp binary) {
    return is_float(dtype) ? evaluator.real(binary, so_far, term)
                           : evaluator.integer(binary, so_far, term);
  };
  switch (op) {
    case ir::ReduceOp::kNone: return term;
    case ir::ReduceOp::kSum: {
      // One rounding for each term rather than for each partial sum: the order of the sum is the
      // schedule's.
      if (!is_float(dtype)) return combine(ir::BinaryOp::kAdd);
      Value out{so_far.value + term.value, so_far.magnitude + term.magnitude, so_far.bound};
      out.bound += rounded(term, dtype).bound;
      return out;
    }
    case ir::ReduceOp::kMax: return combine(ir::BinaryOp::kMax);
    case ir::ReduceOp::kMin: return combine(ir::BinaryOp::kMin);
    case ir::ReduceOp::kProd: return combine(ir::BinaryOp::kMul);
  }
  return term;
}

double wrap(std::int64_t value, Dtype dtype) {
  switch (dtype) {
    case Dtype::kI8: return static_cast<std::int8_t>(value);
    case Dtype::kU8: return static_cast<std::uint8_t>(value);
    case Dtype::kI32: return static_cast<std::int32_t>(value);
    case Dtype::kBool: return value != 0 ? 1 : 0;
    default: return static_cast<double>(value);
  }
}

}  // namespace lathe::interp
