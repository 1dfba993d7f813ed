// Functions that keep whatever they get within bounds, as ReLU6, tanh and sigmoid do.
#pragma once

#include "compiler/te/workload.h"

namespace lathe::te {

// True if a stage of real numbers bounds what is unbounded. Errors of the sums before it may then
// be large beside the largest output, however small they are beside the sums.
bool saturates(const Workload& workload);

}  // namespace lathe::te
