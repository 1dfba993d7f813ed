// Convolutions.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Input, weight and output are n,c,h,w, o,c/groups,kh,kw and n,o,h,w for callers. Inside, with
// several groups that are not depthwise, the output is [n, groups, o/groups, h, w], so that a
// group is a loop of its own.
Operator conv2d();

}  // namespace lathe::ops
