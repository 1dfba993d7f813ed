// A reduction over any number of terms, in any order, with the bound of scalar.h.
#pragma once

#include "compiler/interp/scalar.h"
#include "compiler/te/program.h"

namespace lathe::interp {

// Whether the roundings of the stage's sum may go in one direction, as they do where terms are
// equal: where a term is not made of inputs by arithmetic alone, with every reduced iterator in a
// read.
bool terms_may_be_alike(const te::Program& program, const te::Stage& stage);

// How many units of sum |terms| the stage's sum may be off, whatever its order: with as many
// roundings as terms, of random sign, in f32 and f64 the square root of their number, of any sign
// half of it; in the coarser types, where a sum soon stands still, all.
double sum_units(double terms, Dtype dtype, bool alike);

class Reduction {
 public:
  Reduction(ir::ReduceOp op, Dtype dtype, bool alike);
  void add(const Value& term);
  Value result() const;

 private:
  Value sum() const;
  Value product() const;

  ir::ReduceOp op_;
  Dtype dtype_;
  bool alike_;
  double value_;
  double terms_ = 0;
  double bound_ = 0;  // of terms: their sum, or the largest for min and max
  double size_ = 0;   // sum: of |term|, the finite ones
  double upper_ = 1, large_ = 1,
         small_ = 1;  // product: of |term| + bound, of those above 1, of those below
};

}  // namespace lathe::interp
