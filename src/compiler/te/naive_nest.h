// The default loops of a workload (paper, Figure 1): one loop for each iterator, one stage after
// the other.
#pragma once

#include "compiler/ir/nest/nest.h"
#include "compiler/te/workload.h"

namespace lathe::te {

// Buffer b of the nest is tensor b of the workload; the block of a stage has the name of its
// tensor; the loop of an iterator is named "TENSOR.iterator", e.g. "C.i". All sizes are constants.
ir::Nest naive_nest(const Workload& workload);

}  // namespace lathe::te
