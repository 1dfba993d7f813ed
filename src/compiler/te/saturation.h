// Functions that keep whatever they get within bounds, as ReLU6, tanh and sigmoid do.
#pragma once

#include "compiler/te/workload.h"

namespace lathe::te {

// True if an output or a reduction of real numbers bounds what is unbounded. Errors of the sums
// before it may then be large beside the largest output, however small they are beside the sums.
// Element-wise stages in between count as if they stood in their readers: x * sigmoid(x) bounds
// nothing, also where the sigmoid has a name.
enum class Saturated { kAnything, kSums };
// kSums: only what is made of sums counts. What bounds inputs alone hides no error of a sum.
bool saturates(const Workload& workload, Saturated what = Saturated::kAnything);

}  // namespace lathe::te
