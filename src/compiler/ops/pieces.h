// What only moves elements: parts of tensors and joined ones. Every element is copied as it is, NaN
// and -0 included.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Every STEP-th element from BEGIN to before END along some dimensions, as Python's slices are.
Operator slice();
// Tensors side by side along a dimension.
Operator concat();

}  // namespace lathe::ops
