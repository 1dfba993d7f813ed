// Numbers of classes as vectors.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// 1 where the place along the new dimension is the element of X, else 0. An element that is no
// place has zeros alone.
Operator one_hot();

}  // namespace lathe::ops
