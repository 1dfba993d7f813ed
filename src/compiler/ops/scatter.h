// Tensors that are changed at places that are data.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// X with an element changed for each index along a dimension, as ONNX's ScatterElements.
Operator scatter_elements();
// X with slices changed at places whose coordinates are the last dimension of the indices, as
// ONNX's ScatterND.
Operator scatter_nd();

}  // namespace lathe::ops
