// One element of a te stage or a nest block, computed in f64, with a bound on the rounding errors
// that a real program may show.
//
// Floating-point values are not rounded to their types, except where a cast asks for it. Integers
// are exact and wrap like two's complement after every operation (beyond 2^53, i64 is not exact). A
// cast from a float to an integer rounds towards zero and stops at the ends of the range; NaN
// becomes 0. A cast to bool asks whether the value is not 0. min and max are NaN if an operand is.
#pragma once

#include <functional>
#include <span>

#include "compiler/ir/expr/expr.h"

namespace lathe::interp {

// A program that computes in its own types is within `bound` of `value`, by running error analysis.
// Every rounding adds one unit in the last place of its type: 2 eps |x| plus the distance of the
// type's smallest numbers. That is twice the possible error, so that what this file rounds in f64
// is covered. Let d(x) be the bound of x, and u the unit of the result:
//   a + b, a - b    d(a) + d(b) + u
//   a * b           |a| d(b) + |b| d(a) + d(a) d(b) + u
//   a / b           (d(a) + |a/b| d(b)) / (|b| - d(b)) + u
//   exp, log, ...   how far f moves between x - d(x) and x + d(x), and kFunctionUnits u;
//                   sin, cos 2 and tan infinite beyond trigonometric_limit
//   min, max        the larger bound, less what an operand lies beyond the other
//   floor, round, sign, casts to integers  how far the result moves between x - d(x) and x + d(x)
//   a narrowing cast          d(x) + u; 0 where x is exact: which number it becomes is defined
//   a comparison    1, which means "either", if |a - b| <= d(a) + d(b)
//   isnan, isinf    1 where nothing is known of x
//   & | ^ << >>     infinite where an operand is not exact
//   select          where the condition is "either", both results
// An infinite bound means that nothing is known, e.g. where rounding may leave the range of the
// type.
struct Value {
  double value = 0, bound = 0;
  // A 0 read outside a tensor, or a product with one. A program may leave it out of a sum, so the
  // result is open where it meets an infinity or NaN.
  bool filler = false;
};

inline constexpr double kFunctionUnits = 6;
// One unit in the last place of a number of that size; the largest number of the type.
double unit_of(double size, Dtype dtype);
double largest_of(Dtype dtype);

struct Environment {
  virtual ~Environment() = default;
  virtual Value read(const ir::Read& read, Dtype dtype) = 0;
  // An element of a tensor; `pad` where the index is outside, which it is only where there is one.
  virtual Value element(int tensor, std::span<const std::int64_t> index,
                        const std::optional<double>& pad) = 0;
  virtual std::span<const std::int64_t> shape_of(int tensor) = 0;
  virtual std::int64_t iter(int iter) = 0;

  std::int64_t at(const ir::Affine& index);
};

Value evaluate(const ir::Expr& e, Environment& environment);

// What a Lookup reads, where roundings may decide its indices: the element at the indices' values,
// with a bound that covers the others that they may be. `read` gives an element at one place, and
// `shape` is the tensor's; indices beyond it count as just beyond. Nothing is known where too many
// elements may be meant.
Value looked_up(std::span<const Value> index, std::span<const std::int64_t> shape, bool padded,
                const std::function<Value(std::span<const std::int64_t>)>& read);

// The operations themselves; `dtype` is that of the operands.
Value apply(ir::UnaryOp op, const Value& x, Dtype dtype);
Value apply(ir::BinaryOp op, const Value& a, const Value& b, Dtype dtype);
Value choose(const Value& condition, const Value& then, const Value& otherwise);
Value convert(const Value& x, Dtype from, Dtype to);

// One step of a reduction, as if both operands were exact.
Value accumulate(ir::ReduceOp op, double so_far, double term, Dtype dtype);
// An exact value: an input, a number.
Value exact(double value);

// Wraps the value like two's complement into the integer type.
double wrap(std::int64_t value, Dtype dtype);
std::int64_t whole(double value);  // beyond i64: its nearest end

}  // namespace lathe::interp
