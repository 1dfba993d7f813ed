// Convolutions.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// For callers, the input of conv2d is [n,c,h,w], the weight [o,c/groups,kh,kw] and the output
// [n,o,h,w]; the others have an axis less or more. Inside, with several groups that are not
// depthwise, the output is [n, groups, o/groups, h, w], so that a group is a loop of its own.
Operator conv1d();
Operator conv2d();
Operator conv3d();

}  // namespace lathe::ops
