#include "compiler/ir/flat/verify_types.h"

#include <fmt/format.h>

namespace lathe::flat {

std::string described(Type type) {
  return type.lanes == 1 ? std::string(name_of(type.dtype))
                         : fmt::format("{} x {}", name_of(type.dtype), type.lanes);
}

bool is_integer(Dtype dtype) { return !is_float(dtype) && dtype != Dtype::kBool; }

bool bitcasts(Dtype from, Dtype to) {
  if (size_of(from) == size_of(to)) return true;
  const auto half = [](Dtype d) { return d == Dtype::kF16 || d == Dtype::kBF16; };
  return (half(from) && to == Dtype::kI32) || (half(to) && from == Dtype::kI32);
}

bool takes(UnaryOp op, Dtype dtype) {
  if (op == UnaryOp::kNot) return dtype == Dtype::kBool;
  if (op == UnaryOp::kNeg || op == UnaryOp::kAbs) return dtype != Dtype::kBool;
  if (op >= UnaryOp::kSign && op <= UnaryOp::kIsInf) return false;
  return is_float(dtype);
}

bool takes(BinaryOp op, Dtype dtype) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kDiv: return dtype != Dtype::kBool;
    case BinaryOp::kMod: return is_integer(dtype);
    case BinaryOp::kPow:
    case BinaryOp::kScale: return is_float(dtype);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kEq:
    case BinaryOp::kNe: return true;
    case BinaryOp::kAnd:
    case BinaryOp::kOr: return dtype == Dtype::kBool;
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kShl:
    case BinaryOp::kShr: return is_integer(dtype);
    case BinaryOp::kSar: return is_integer(dtype) && !is_unsigned(dtype);
  }
  return false;
}

}  // namespace lathe::flat
