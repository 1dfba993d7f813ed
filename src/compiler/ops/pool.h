// Pooling: what summarises windows of an image, or whole images.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Of X[n,c,h,w] and its like of one and three axes; a window that reaches into the padding takes
// what of it is inside. Windows that lie wholly outside are refused.
Operator max_pool1d();
Operator max_pool2d();
Operator max_pool3d();
// The mean; elements of the padding count as zeros, or do not count. What is beyond the padding, in
// the last windows of --ceil-mode, never counts.
Operator avg_pool1d();
Operator avg_pool2d();
Operator avg_pool3d();
// The mean over everything behind n,c.
Operator global_avg_pool();

}  // namespace lathe::ops
