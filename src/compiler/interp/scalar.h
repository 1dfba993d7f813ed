// One element of a te stage or a nest block, computed in f64, with a bound on the rounding a real program may show.
//
// Floating-point values are not rounded to their types. Integers are exact and wrap like two's complement after every
// operation (i64 loses precision beyond 2^53). A cast from a float to an integer rounds towards zero and stops at the
// ends of the range; NaN becomes 0. A cast to bool asks whether the value is not 0.
#pragma once

#include "compiler/ir/expr/expr.h"

namespace lathe::interp {

// `magnitude` is the same expression with the absolute value of every term, so that x - x is no excuse for a large error.
// `bound` is the largest error to first order if every operation rounds once in its type: a program that adds up n terms
// in any order stays within a small multiple of it. Inputs have no error, integers neither. Where a condition is so close
// that rounding may turn it, the bound covers both outcomes.
//   a + b, a - b   magnitude |a| + |b|, bound of a + bound of b + eps * magnitude
//   a * b          magnitude |a| * |b|, |a| * bound of b + |b| * bound of a + eps * magnitude (|.| are magnitudes)
//   a / b          |a| / |b| with the b's value, bound of a / |b| + |a| / b^2 * bound of b + eps * magnitude
//   f(x)           |f(x)|, |f'(x)| * bound of x + 4 eps * |f(x)|; sqrt near 0 at most sqrt(bound)
//   floor, ceil, float to integer: + 1 where x is within its bound of a step
struct Value {
  double value = 0, magnitude = 0, bound = 0;
};

struct Environment {
  virtual ~Environment() = default;
  virtual Value read(const ir::Read& read, Dtype dtype) = 0;
  virtual std::int64_t iter(int iter) = 0;

  std::int64_t at(const ir::Affine& index);
};

Value evaluate(const ir::Expr& e, Environment& environment);

// One step of a reduction, on accumulators of that type.
Value accumulate(ir::ReduceOp op, const Value& so_far, const Value& term, Dtype dtype);
Value identity(ir::ReduceOp op, Dtype dtype);
// An exact value: an input, a number.
Value exact(double value);

// Two's complement in the integer type.
double wrap(std::int64_t value, Dtype dtype);

}  // namespace lathe::interp
