// What only moves elements: larger, smaller and joined tensors. Every element is copied as it is,
// NaN and -0 included.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// X with a value around it; less of X where the padding is negative.
Operator pad();
// Every STEP-th element from BEGIN to before END along some dimensions, as Python's slices are.
Operator slice();
// Tensors side by side along a dimension.
Operator concat();

}  // namespace lathe::ops
