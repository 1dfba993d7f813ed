// The largest elements along a dimension.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// The k largest, or smallest, elements of X along a dimension in order, and their places.
Operator top_k();

}  // namespace lathe::ops
