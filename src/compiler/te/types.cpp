#include "compiler/te/types.h"

#include <cmath>
#include <cstdint>

namespace lathe::te {
namespace {

using ir::BinaryOp;
using ir::UnaryOp;

std::string_view wider(Dtype a, Dtype b) {
  const bool a_wins = is_float(a) != is_float(b) ? is_float(a) : size_of(a) >= size_of(b);
  return name_of(a_wins ? a : b);
}

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
    default: return {-0x1p53 + 1, 0x1p53 - 1};  // so that all of them are exact
  }
}

}  // namespace

Dtype accumulator_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
    case Dtype::kBF16: return Dtype::kF32;
    case Dtype::kI8:
    case Dtype::kU8:
    case Dtype::kI16:
    case Dtype::kU16: return Dtype::kI32;
    default: return dtype;
  }
}

bool is_narrow(Dtype dtype) { return accumulator_of(dtype) != dtype; }

Result<double> number_as(double value, Dtype dtype) {
  if (std::isnan(value)) return fail(ErrorKind::kInvalidArgument, "a number may not be NaN");
  if (dtype == Dtype::kBool && value != 0 && value != 1)
    return fail(ErrorKind::kInvalidArgument, "{} is no bool; write true or false", value);
  if (is_float(dtype)) {
    std::uint64_t bits = 0;
    store_element(dtype, &bits, value);
    const double rounded = load_element(dtype, &bits);
    if (std::isinf(rounded) && !std::isinf(value))
      return fail(ErrorKind::kInvalidArgument, "the number {} is too large for {}", value,
                  name_of(dtype));
    return rounded;
  }
  if (dtype == Dtype::kBool) return value;
  const Range range = range_of(dtype);
  if (value != std::floor(value))
    return fail(ErrorKind::kInvalidArgument,
                "the number {} is no {}; cast the other operand, for example f32(...)", value,
                name_of(dtype));
  if (dtype == Dtype::kI64 && std::abs(value) > range.high)
    return fail(ErrorKind::kInvalidArgument,
                "a number of i64 is written from -(2^53 - 1) to 2^53 - 1; write a larger one as a "
                "product");
  if (value < range.low || value > range.high)
    return fail(ErrorKind::kInvalidArgument,
                "the number {} is outside {}'s range from {:.0f} to {:.0f}", value, name_of(dtype),
                range.low, range.high);
  return value == 0 ? 0 : value;  // no -0 among integers
}

Status check_unary(UnaryOp op, const ir::Expr& x) {
  const Dtype dtype = x->dtype;
  switch (op) {
    case UnaryOp::kNot:
      if (dtype == Dtype::kBool) return {};
      return fail(ErrorKind::kInvalidArgument,
                  "'!' needs a bool, {} is given; compare it, for example x != 0", name_of(dtype));
    case UnaryOp::kBitNot:
      if (!is_float(dtype) && dtype != Dtype::kBool) return {};
      return fail(ErrorKind::kInvalidArgument, "'~' needs an integer, {} is given; {}",
                  name_of(dtype),
                  dtype == Dtype::kBool ? "write '!'" : "cast it, for example i32(...)");
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kSign:
      if (dtype != Dtype::kBool) return {};
      return fail(ErrorKind::kInvalidArgument,
                  "'{}' needs a number, bool is given; cast it, for example i32(...)", name_of(op));
    default:
      if (is_float(dtype)) return {};
      return fail(ErrorKind::kInvalidArgument,
                  "{} needs a floating-point operand, {} is given; cast it: {}(f32(...))",
                  name_of(op), name_of(dtype), name_of(op));
  }
}

Status check_binary(BinaryOp op, const ir::Expr& a, const ir::Expr& b) {
  const char* name = name_of(op);
  if (a->dtype != b->dtype)
    return fail(ErrorKind::kInvalidArgument,
                "the operands of {} have the types {} and {}; cast one, for example {}(...)", name,
                name_of(a->dtype), name_of(b->dtype), wider(a->dtype, b->dtype));
  const Dtype dtype = a->dtype;
  if (op == BinaryOp::kEq || op == BinaryOp::kNe) return {};
  if (op == BinaryOp::kAnd || op == BinaryOp::kOr) {
    if (dtype == Dtype::kBool) return {};
    return fail(ErrorKind::kInvalidArgument,
                "{} needs bools, {} is given; compare it, for example x != 0", name,
                name_of(dtype));
  }
  if (op >= BinaryOp::kBitAnd && op <= BinaryOp::kShr) {
    if (!is_float(dtype) && dtype != Dtype::kBool) return {};
    const bool shifts = op == BinaryOp::kShl || op == BinaryOp::kShr;
    return fail(ErrorKind::kInvalidArgument, "{} needs integers, {} is given; {}", name,
                name_of(dtype),
                dtype != Dtype::kBool || shifts ? "cast the operands, for example i32(...)"
                : op == BinaryOp::kBitAnd       ? "write &&"
                : op == BinaryOp::kBitOr        ? "write ||"
                                                : "write !=");
  }
  if (dtype == Dtype::kBool)
    return fail(ErrorKind::kInvalidArgument,
                "{} needs numbers, bools are given; cast them, for example i32(...)", name);
  if (op == BinaryOp::kPow && !is_float(dtype))
    return fail(ErrorKind::kInvalidArgument,
                "pow needs floating-point operands, {} is given; cast them: f32(...)",
                name_of(dtype));
  if (op == BinaryOp::kMod && is_float(dtype))
    return fail(ErrorKind::kInvalidArgument,
                "% needs integers, {} is given; for floats write a - floor(a/b)*b", name_of(dtype));
  if (op == BinaryOp::kMod || (op == BinaryOp::kDiv && !is_float(dtype))) {
    const auto* divisor = std::get_if<ir::Const>(&b->value);
    if (divisor == nullptr || divisor->value <= 0)
      return fail(ErrorKind::kInvalidArgument,
                  "integer {} needs a positive number as divisor; for anything else, but in an "
                  "index, cast the operands to f32",
                  name);
  }
  return {};
}

Status check_select(const ir::Expr& condition, const ir::Expr& then, const ir::Expr& otherwise) {
  if (condition->dtype != Dtype::kBool)
    return fail(ErrorKind::kInvalidArgument,
                "select's condition is {}, not bool; compare it, for example x != 0",
                name_of(condition->dtype));
  if (then->dtype != otherwise->dtype)
    return fail(ErrorKind::kInvalidArgument,
                "select's results have the types {} and {}; cast one, for example {}(...)",
                name_of(then->dtype), name_of(otherwise->dtype),
                wider(then->dtype, otherwise->dtype));
  return {};
}

Status check_reduction(ir::ReduceOp op, Dtype body) {
  if (body != Dtype::kBool) return {};
  return fail(ErrorKind::kInvalidArgument,
              "{0} needs numbers, bools are given; cast them: {0}(...) i32(...)", name_of(op));
}

}  // namespace lathe::te
