// Sequences of recurrent cells: all steps of an LSTM, a GRU or a network without gates.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// As PyTorch's LSTM, GRU and RNN of one layer, with the first dimension for the steps. The products
// with the inputs are those of all steps at once; what depends on the state goes on step by step.
Operator lstm();
Operator gru();
Operator rnn();

}  // namespace lathe::ops
