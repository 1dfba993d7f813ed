// Reductions over any dimensions.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// sum, prod, max, min, mean, and argmax and argmin: the first place of the largest or smallest
// element, counted over all reduced dimensions, as an i64. A NaN counts as larger and smaller than
// all else, as in NumPy.
Operator reduce();

// The last two of these alone, as argmax and argmin of NumPy.
Operator argmax();
Operator argmin();

}  // namespace lathe::ops
