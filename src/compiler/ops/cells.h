// Cells of recurrent networks: one step in time.
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

// As PyTorch's LSTMCell and GRUCell: the same formulas, and the same order of gates in the rows of
// the weights, which are constant. The outputs are h and c of the next step, in this order.
Operator lstm_cell();
Operator gru_cell();

}  // namespace lathe::ops
