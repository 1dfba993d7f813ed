// A reduction over any number of terms, in any order, with the bound of scalar.h.
#pragma once

#include "compiler/interp/scalar.h"
#include "compiler/te/workload.h"

namespace lathe::interp {

// True if the roundings of the stage's sum may all go in one direction, as happens where terms are
// equal. They may unless arithmetic alone makes every term from inputs, and every reduced iterator
// is in a read.
bool terms_may_be_alike(const te::Workload& workload, const te::Stage& stage);

// True if factors of the stage's terms may be summed up before they are multiplied. What is not
// finite may be infinite or NaN then.
bool may_be_factored(const te::Stage& stage);

// By how many units of sum |terms| the stage's sum may be off, whatever its order. There are as
// many roundings as terms. In f32 and f64 it is the square root of their number if their signs are
// random, half their number if not. In the coarser types, where a sum soon stands still, it is
// their number.
double sum_units(double terms, Dtype dtype, bool alike);

class Reduction {
 public:
  Reduction(ir::ReduceOp op, Dtype dtype, bool alike, bool factored);
  void add(const Value& term);
  Value result() const;

 private:
  Value sum() const;
  Value product() const;

  ir::ReduceOp op_;
  Dtype dtype_;
  bool alike_, factored_;
  double value_;
  double terms_ = 0;
  double bound_ = 0;  // of terms: the sum of their bounds; for min and max the largest
  double size_ = 0;   // of a sum: the sum of the finite |term|
  double upper_ = 1, large_ = 1,
         // Products of |term| + bound: of all terms (upper_), of those above 1, of those below.
      small_ = 1;
};

}  // namespace lathe::interp
