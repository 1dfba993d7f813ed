// Contractions written as in NumPy's einsum.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// The product of all operands, summed up over the letters that the output does not have.
Operator einsum();

}  // namespace lathe::ops
