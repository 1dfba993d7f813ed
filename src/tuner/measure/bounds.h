// Writes the rounding bound of an expression as an expression. It follows the rules of
// compiler/interp/scalar.h, so that a compiled program computes for every element what the
// evaluator computes for one.
//
// A bound is an expression in f64 that tells how far a program may be off; where it is exact, there
// is none. The bound of an operand is written once, so that bounds grow no faster than their
// expressions: where scalar.h looks at both sides of x, this takes the side on which the function
// moves further. NaN and infinity mean that nothing is known.
#pragma once

#include <vector>

#include "compiler/te/workload.h"

namespace lathe::measure {

// f64 for a floating-point type, else the type itself.
Dtype widened(Dtype dtype);

class Bounds {
 public:
  // by_tensor[t] is the tensor that holds the bounds of t, or -1 where t is exact. The bound of a
  // bool is 1 where it may be either.
  explicit Bounds(const std::vector<int>& by_tensor) : by_tensor_(by_tensor) {}

  // The expression in f64, rounded by its casts only.
  ir::Expr value(const ir::Expr& e) const;
  // The bound of the expression; null: it is exact.
  ir::Expr bound(const ir::Expr& e);
  // True if rounding may turn a condition or move a step in the expressions so far.
  bool jumps() const { return jumps_; }

  // The bound of an integer. Where the error may wrap it around, anything is possible.
  static ir::Expr wrapped(const ir::Expr& value, const ir::Expr& bound, Dtype dtype);

 private:
  // Whether a bool may be either; null: it may not.
  ir::Expr doubt(const ir::Expr& e);
  ir::Expr doubtful(const ir::Expr& a, const ir::Expr& b);
  ir::Expr bound_of(const ir::Expr& e, const ir::Unary& n);
  ir::Expr bound_of(const ir::Expr& e, const ir::Binary& n);
  ir::Expr bound_of(const ir::Expr& e, const ir::Select& n);
  ir::Expr bound_of(const ir::Expr& e, const ir::Cast& n);
  ir::Expr bound_of(const ir::Expr& e, const ir::Lookup& n);
  ir::Expr element_bound(const ir::Lookup& n) const;
  ir::Expr bound_of_place(const ir::Lookup& n);
  ir::Expr integer_bound(const ir::Expr& e, const ir::Binary& n);
  ir::Expr power_bound(const ir::Expr& e, const ir::Binary& n);
  ir::Expr trigonometric_bound(const ir::Expr& e, const ir::Unary& n);
  ir::Expr largest_bound(const ir::Expr& a, const ir::Expr& b, bool smallest);
  ir::Expr truncated_bound(const ir::Cast& n, Dtype to);

  const std::vector<int>& by_tensor_;
  bool jumps_ = false;
};

}  // namespace lathe::measure
