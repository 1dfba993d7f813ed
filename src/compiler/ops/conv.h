// Convolutions.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// For callers, the input is [n,c,h,w], the weight [o,c/groups,kh,kw] and the output [n,o,h,w].
// Inside, with several groups that are not depthwise, the output is [n, groups, o/groups, h, w], so
// that a group is a loop of its own.
Operator conv2d();

}  // namespace lathe::ops
