// Pooling: what summarises windows of an image, or whole images.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Of X[n,c,h,w]; a window that reaches into the padding takes what of it is inside.
Operator max_pool2d();
// The mean; elements of the padding count as zeros, or do not count.
Operator avg_pool2d();
// The mean over everything behind n,c.
Operator global_avg_pool();

}  // namespace lathe::ops
