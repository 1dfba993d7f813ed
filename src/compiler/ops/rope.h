// Rotary embedding.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// Pairs of elements of X[heads,tokens,width], turned by the angles whose cosines and sines are
// given for each token and pair.
Operator rope();

}  // namespace lathe::ops
