// Softmax and norms: what goes over a row several times.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// A row is made of the dimensions that --axes gives. Of f16 and bf16, what lies between the input
// and the output is f32.
Operator softmax();
Operator log_softmax();
Operator logsumexp();
Operator layer_norm();
Operator rms_norm();
// With the statistics of training as constants.
Operator batch_norm();
Operator group_norm();

}  // namespace lathe::ops
