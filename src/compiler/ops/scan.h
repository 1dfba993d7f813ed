// Sums, products and extremes of all elements up to each one along an axis.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Of f16 and bf16 they are kept in f32; sums and products of i8 and u8 are i32. A NaN makes what
// comes after it NaN.
Operator cumsum();
Operator cumprod();
Operator cummax();
Operator cummin();

}  // namespace lathe::ops
