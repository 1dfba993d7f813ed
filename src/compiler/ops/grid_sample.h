// Images that are read between their elements.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Elements of images at the places that a grid of coordinates gives, as ONNX's GridSample.
Operator grid_sample();

}  // namespace lathe::ops
