// Sequences of recurrent cells: all steps of an LSTM or a GRU.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// As PyTorch's LSTM and GRU of one layer, with the first dimension for the steps. The products with
// the inputs are those of all steps at once; what depends on the state goes on step by step.
Operator lstm();
Operator gru();

}  // namespace lathe::ops
