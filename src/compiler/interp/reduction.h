// A reduction over any number of terms, in any order, with the bound of scalar.h.
#pragma once

#include "compiler/interp/scalar.h"

namespace lathe::interp {

// How many units of sum |terms| a sum of `terms` may be off, whatever its order: with that many
// roundings of random sign in f32 and f64 the square root of their number; in the coarser types,
// where a sum soon stands still, all of them.
double sum_units(double terms, Dtype dtype);

class Reduction {
 public:
  Reduction(ir::ReduceOp op, Dtype dtype);
  void add(const Value& term);
  Value result() const;

 private:
  Value sum() const;
  Value product() const;

  ir::ReduceOp op_;
  Dtype dtype_;
  double value_;
  double terms_ = 0;
  double bound_ = 0;  // of terms: their sum, or the largest for min and max
  double size_ = 0;   // sum: of |term|, the finite ones
  double upper_ = 1, large_ = 1,
         small_ = 1;  // product: of |term| + bound, of those above 1, of those below
};

}  // namespace lathe::interp
