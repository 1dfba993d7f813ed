// One element of a te stage or a nest block, computed in f64, with a bound on the rounding a real
// program may show.
//
// Floating-point values are not rounded to their types. Integers are exact and wrap like two's
// complement after every operation (i64 loses precision beyond 2^53). A cast from a float to an
// integer rounds towards zero and stops at the ends of the range; NaN becomes 0. A cast to bool
// asks whether the value is not 0.
#pragma once

#include "compiler/ir/expr/expr.h"

namespace lathe::interp {

// `magnitude` is the same expression with the absolute value of every term, so that x - x is no
// excuse for a large error. `bound` is the largest error to first order if every operation rounds
// once in its type: a program that adds up n terms in any order stays within a small multiple of
// it. Inputs have no error, integers neither. Where a condition is so close that rounding may turn
// it, the bound covers both outcomes.
//
// With m(x) the magnitude of x, d(x) its bound and eps the round-off of the type:
//   a + b, a - b   m = m(a) + m(b)       d = d(a) + d(b) + eps m
//   a * b          m = m(a) m(b)         d = m(a) d(b) + m(b) d(a) + eps m
//   a / b          m = m(a) / |b|        d = d(a) / |b| + m(a) d(b) / b^2 + 2 eps m
//   f(x)           m = |f(x)|            d = max |f'| d(x) + 4 eps m; for sqrt at most sqrt(d(x))
//   min, max       the larger m          the larger d
//   floor, ceil, float to integer        d = 1 where x is within a few bounds of a step, else 0
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
