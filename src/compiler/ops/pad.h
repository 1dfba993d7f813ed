// A tensor with more around it, or less of it. Every element is copied as it is, NaN and -0
// included.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// X with a value, or with what X goes on with, around it; less of X where the padding is negative.
Operator pad();

}  // namespace lathe::ops
