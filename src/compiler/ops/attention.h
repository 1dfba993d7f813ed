// Attention.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Y[h,i,d] of queries Q[h,i,d], keys K[h,j,d] and values V[h,j,d]: for each head and query, the
// values weighted by the softmax of the scaled products with the keys. Of f16 and bf16, scores and
// weights are f32. With fewer heads of keys and values, heads of queries share them.
Operator attention();

}  // namespace lathe::ops
