// Operators over index expressions in f64, with which bounds read like formulas. A null expression
// is 0.
#pragma once

#include <utility>

#include "compiler/ir/expr/expr.h"

namespace lathe::measure::f64 {

using ir::Expr;

inline Expr number(double value) { return ir::constant(value, Dtype::kF64); }
inline Expr plus(Expr a, Expr b) {
  if (!a || !b) return a ? a : b;
  return ir::binary(ir::BinaryOp::kAdd, std::move(a), std::move(b));
}
inline Expr minus(Expr a, Expr b) {
  return b ? ir::binary(ir::BinaryOp::kSub, std::move(a), std::move(b)) : a;
}
inline Expr times(Expr a, Expr b) {
  return a && b ? ir::binary(ir::BinaryOp::kMul, std::move(a), std::move(b)) : nullptr;
}
inline Expr times(Expr a, double b) { return b == 1 ? a : times(std::move(a), number(b)); }
inline Expr over(Expr a, Expr b) {
  return a ? ir::binary(ir::BinaryOp::kDiv, std::move(a), std::move(b)) : nullptr;
}
inline Expr larger(Expr a, Expr b) {
  if (!a || !b) return a ? a : b;
  return ir::binary(ir::BinaryOp::kMax, std::move(a), std::move(b));
}
inline Expr smaller(Expr a, Expr b) {
  return ir::binary(ir::BinaryOp::kMin, std::move(a), std::move(b));
}
inline Expr apply(ir::UnaryOp op, Expr x) { return ir::unary(op, std::move(x)); }
inline Expr size(Expr x) { return apply(ir::UnaryOp::kAbs, std::move(x)); }
inline Expr at_most(Expr a, Expr b) {
  return ir::binary(ir::BinaryOp::kLe, std::move(a), std::move(b));
}
inline Expr below(Expr a, Expr b) {
  return ir::binary(ir::BinaryOp::kLt, std::move(a), std::move(b));
}
inline Expr opposite(Expr a) { return apply(ir::UnaryOp::kNot, std::move(a)); }
// For conditions: null is false.
inline Expr either(Expr a, Expr b) {
  if (!a || !b) return a ? a : b;
  return ir::binary(ir::BinaryOp::kOr, std::move(a), std::move(b));
}
inline Expr both(Expr a, Expr b) {
  return a && b ? ir::binary(ir::BinaryOp::kAnd, std::move(a), std::move(b)) : nullptr;
}
inline Expr where(Expr condition, Expr then, Expr otherwise) {
  if (!condition) return otherwise;
  if (!then && !otherwise) return nullptr;
  return ir::select(std::move(condition), then ? std::move(then) : number(0),
                    otherwise ? std::move(otherwise) : number(0));
}

}  // namespace lathe::measure::f64
