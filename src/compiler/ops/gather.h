// Elements whose places are data: slices, single elements and rows of a table, looked up.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Slices along an axis, as numpy.take, PyTorch's index_select and ONNX's Gather.
Operator gather();
// One element for each index, as numpy.take_along_axis and ONNX's GatherElements.
Operator gather_elements();
// Slices at places of several coordinates, as ONNX's GatherND.
Operator gather_nd();
// Rows of a table, or what those of a bag come to, as PyTorch's embedding and embedding_bag.
Operator embedding();

}  // namespace lathe::ops
