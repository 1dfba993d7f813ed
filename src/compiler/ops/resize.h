// Images of another size.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// X[n,c,...] with one to three axes of another size, as ONNX's Resize (version 19, without
// antialias) and PyTorch's interpolate. Where an element comes from, and with which weights, is
// computed here and stands in tables, unless a division or a product says it; axes go one after the
// other where that is less work.
Operator resize();

}  // namespace lathe::ops
