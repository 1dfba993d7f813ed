// Operators over flat expressions, with which expansions read like their formulas. A plain number
// takes the type of the other operand.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

struct V {
  flat::Expr e;

  flat::Type type() const { return e->type; }
  V like(double value) const { return {flat::imm(value, e->type)}; }
  V bits_like(std::int64_t value) const {
    return {flat::broadcast(flat::int_imm(value, e->type.dtype), e->type.lanes)};
  }
  V as(Dtype dtype) const { return {flat::cast(e, dtype)}; }
  V bits(Dtype dtype) const { return {flat::bitcast(e, dtype)}; }
};

inline V apply(flat::BinaryOp op, const V& a, const V& b) { return {flat::binary(op, a.e, b.e)}; }
inline V apply(flat::UnaryOp op, const V& a) { return {flat::unary(op, a.e)}; }

inline V operator+(const V& a, const V& b) { return apply(flat::BinaryOp::kAdd, a, b); }
inline V operator-(const V& a, const V& b) { return apply(flat::BinaryOp::kSub, a, b); }
inline V operator*(const V& a, const V& b) { return apply(flat::BinaryOp::kMul, a, b); }
inline V operator/(const V& a, const V& b) { return apply(flat::BinaryOp::kDiv, a, b); }
inline V operator&(const V& a, const V& b) { return apply(flat::BinaryOp::kBitAnd, a, b); }
inline V operator|(const V& a, const V& b) { return apply(flat::BinaryOp::kBitOr, a, b); }
inline V operator^(const V& a, const V& b) { return apply(flat::BinaryOp::kBitXor, a, b); }
inline V operator<(const V& a, const V& b) { return apply(flat::BinaryOp::kLt, a, b); }
inline V operator<=(const V& a, const V& b) { return apply(flat::BinaryOp::kLe, a, b); }
inline V operator==(const V& a, const V& b) { return apply(flat::BinaryOp::kEq, a, b); }
inline V operator!=(const V& a, const V& b) { return apply(flat::BinaryOp::kNe, a, b); }
inline V operator&&(const V& a, const V& b) { return apply(flat::BinaryOp::kAnd, a, b); }
inline V operator||(const V& a, const V& b) { return apply(flat::BinaryOp::kOr, a, b); }

inline V operator!(const V& a) { return apply(flat::UnaryOp::kNot, a); }

inline V operator+(const V& a, double b) { return a + a.like(b); }
inline V operator-(const V& a, double b) { return a - a.like(b); }
inline V operator*(const V& a, double b) { return a * a.like(b); }
inline V operator+(double a, const V& b) { return b.like(a) + b; }
inline V operator-(double a, const V& b) { return b.like(a) - b; }
inline V operator/(double a, const V& b) { return b.like(a) / b; }
inline V operator<(const V& a, double b) { return a < a.like(b); }
inline V operator<=(const V& a, double b) { return a <= a.like(b); }
inline V operator==(const V& a, double b) { return a == a.like(b); }

// For integers, with an immediate.
inline V operator&(const V& a, std::int64_t b) { return a & a.bits_like(b); }
inline V operator|(const V& a, std::int64_t b) { return a | a.bits_like(b); }
inline V plus(const V& a, std::int64_t b) { return a + a.bits_like(b); }
inline V shl(const V& a, std::int64_t n) { return apply(flat::BinaryOp::kShl, a, a.bits_like(n)); }
inline V shr(const V& a, std::int64_t n) { return apply(flat::BinaryOp::kShr, a, a.bits_like(n)); }

inline V neg(const V& a) { return apply(flat::UnaryOp::kNeg, a); }
inline V abs(const V& a) { return apply(flat::UnaryOp::kAbs, a); }
inline V sqrt(const V& a) { return apply(flat::UnaryOp::kSqrt, a); }
inline V floor(const V& a) { return apply(flat::UnaryOp::kFloor, a); }
inline V fma(const V& a, const V& b, const V& c) { return {flat::fma(a.e, b.e, c.e)}; }
inline V fma(const V& a, double b, const V& c) { return fma(a, a.like(b), c); }
inline V fma(const V& a, const V& b, double c) { return fma(a, b, a.like(c)); }
inline V select(const V& condition, const V& then, const V& otherwise) {
  return {flat::select(condition.e, then.e, otherwise.e)};
}
// Cuts x at a bound; NaN stays NaN.
inline V at_most(const V& x, double bound) { return apply(flat::BinaryOp::kMin, x.like(bound), x); }
inline V at_least(const V& x, double bound) {
  return apply(flat::BinaryOp::kMax, x.like(bound), x);
}

// Coefficients go from the highest power down. Even and odd powers of a long one are two chains
// beside each other, for a processor does not look ahead over many vectors: gelu takes 0.93 of the
// time of one chain.
inline V polynomial(const V& x, std::initializer_list<double> coefficients) {
  const std::vector<double> c(coefficients);
  const auto horner = [&](const V& y, std::size_t first, std::size_t step) {
    V sum = x.like(c[first]);
    for (std::size_t i = first + step; i < c.size(); i += step) sum = fma(sum, y, c[i]);
    return sum;
  };
  constexpr std::size_t kLong = 8;
  if (c.size() < kLong) return horner(x, 0, 1);
  const V square = x * x;
  const std::size_t even = (c.size() - 1) % 2;
  return fma(horner(square, 1 - even, 2), x, horner(square, even, 2));
}

}  // namespace lathe::lower
