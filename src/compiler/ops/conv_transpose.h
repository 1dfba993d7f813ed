// Transposed convolutions: what carries gradients back through a convolution, and enlarges images.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// For callers, the input of conv_transpose2d is [n,c,h,w], the weight [c,o/groups,kh,kw] and the
// output [n,o,h,w], as in PyTorch; the others have an axis less or more. Element i of the input
// reaches the outputs stride*i + dilation*k - pad through the taps k.
//
// Inside, an output index is stride*y + phase. A phase has the taps stride*r + c(phase), with a
// first tap c that is affine in the phase, and reads the input at y - dilation*r + ...; so no tap
// meets the zeros that one could put between the elements of the input. Where stride and dilation
// have a common factor g, of g outputs that follow each other one has taps, and the others are 0.
// Where the size of an output is no multiple of the stride, a stage for that axis follows, which
// writes the phases side by side and leaves out the last ones.
Operator conv_transpose1d();
Operator conv_transpose2d();
Operator conv_transpose3d();

}  // namespace lathe::ops
