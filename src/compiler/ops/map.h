// What moves or changes each element by itself.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// The dimensions in another order.
Operator transpose();
// A function of each element, as gelu.
Operator map();

}  // namespace lathe::ops
