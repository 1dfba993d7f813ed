// Convolutions.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// With several groups that are not depthwise the output is [n, groups, o/groups, y, x]: in memory
// the same as [n,o,y,x].
Operator conv2d();

}  // namespace lathe::ops
