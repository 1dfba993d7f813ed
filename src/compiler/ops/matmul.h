// Matrix products: matmul, dense, batch_matmul.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

Operator matmul();
Operator dense();
Operator batch_matmul();

}  // namespace lathe::ops
