// Pooling into a given number of windows, which together cover the image as evenly as can be.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Of X[n,c,h,w], Y[n,c,y,x]: window y has the rows from floor(y*h/Y) to ceil((y + 1)*h/Y), and so
// along x. They overlap where the sizes do not divide.
Operator adaptive_avg_pool2d();
Operator adaptive_max_pool2d();

}  // namespace lathe::ops
