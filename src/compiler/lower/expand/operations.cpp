#include "compiler/lower/expand/operations.h"

#include <limits>
#include <utility>

namespace lathe::lower {
namespace {

using flat::BinaryOp;
using flat::Expr;

Expr splat(std::int64_t value, const Expr& like) {
  return flat::broadcast(flat::int_imm(value, like->type.dtype), like->type.lanes);
}

// 0 + x is x, but 0 of -0. NaN stays NaN.
Expr sign_of(const Expr& x) {
  const Expr zero = flat::imm(0, x->type);
  const Expr rest = is_float(x->type.dtype) ? flat::binary(BinaryOp::kAdd, zero, x) : zero;
  const Expr below =
      flat::select(flat::binary(BinaryOp::kLt, x, zero), flat::imm(-1, x->type), rest);
  return flat::select(flat::binary(BinaryOp::kLt, zero, x), flat::imm(1, x->type), below);
}

BinaryOp plain(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::kAdd: return BinaryOp::kAdd;
    case ir::BinaryOp::kSub: return BinaryOp::kSub;
    case ir::BinaryOp::kMul: return BinaryOp::kMul;
    case ir::BinaryOp::kDiv: return BinaryOp::kDiv;
    case ir::BinaryOp::kMod: return BinaryOp::kMod;
    case ir::BinaryOp::kMin: return BinaryOp::kMin;
    case ir::BinaryOp::kMax: return BinaryOp::kMax;
    case ir::BinaryOp::kPow: return BinaryOp::kPow;
    case ir::BinaryOp::kBitAnd: return BinaryOp::kBitAnd;
    case ir::BinaryOp::kBitOr: return BinaryOp::kBitOr;
    case ir::BinaryOp::kBitXor: return BinaryOp::kBitXor;
    case ir::BinaryOp::kShl: return BinaryOp::kShl;
    case ir::BinaryOp::kShr: return BinaryOp::kShr;
    case ir::BinaryOp::kLt: return BinaryOp::kLt;
    case ir::BinaryOp::kLe: return BinaryOp::kLe;
    case ir::BinaryOp::kEq: return BinaryOp::kEq;
    case ir::BinaryOp::kNe: return BinaryOp::kNe;
    case ir::BinaryOp::kAnd: return BinaryOp::kAnd;
    case ir::BinaryOp::kOr: return BinaryOp::kOr;
  }
  return BinaryOp::kAdd;
}

// Flat shifts are by less than the width alone. Shifts by a negative number, or by the width and
// more, leave what comes in instead of the bits.
Expr shifted(BinaryOp op, const Expr& x, const Expr& by) {
  const std::int64_t last = 8 * size_of(x->type.dtype) - 1;
  const Expr low = flat::binary(BinaryOp::kBitAnd, by, splat(last, by));
  const Expr inside = flat::binary(BinaryOp::kEq, low, by);
  if (op == BinaryOp::kSar) return flat::binary(op, x, flat::select(inside, low, splat(last, by)));
  return flat::select(inside, flat::binary(op, x, low), splat(0, x));
}

}  // namespace

Expr flat_operation(ir::UnaryOp op, Expr x) {
  switch (op) {
    case ir::UnaryOp::kSign: return sign_of(x);
    case ir::UnaryOp::kBitNot: return flat::binary(BinaryOp::kBitXor, x, splat(-1, x));
    case ir::UnaryOp::kIsNan: return flat::binary(BinaryOp::kNe, x, x);
    case ir::UnaryOp::kIsInf:
      return flat::binary(BinaryOp::kEq, flat::unary(flat::UnaryOp::kAbs, x),
                          flat::imm(std::numeric_limits<double>::infinity(), x->type));
    default: return flat::unary(op, std::move(x));
  }
}

Expr flat_operation(ir::BinaryOp op, Expr a, Expr b) {
  switch (op) {
    case ir::BinaryOp::kShl: return shifted(BinaryOp::kShl, a, b);
    case ir::BinaryOp::kShr:
      return shifted(is_unsigned(a->type.dtype) ? BinaryOp::kShr : BinaryOp::kSar, a, b);
    default: return flat::binary(plain(op), std::move(a), std::move(b));
  }
}

}  // namespace lathe::lower
