// What a softmax subtracts its maximum for: exponents that are not above 0.
#pragma once

#include "compiler/te/workload.h"

namespace lathe::te {

// The stage's body, in which exp(x - m) is exp(min(0, x - m)) where m is the maximum of values that
// x is one of. No value changes, but for x - m that rounding has left above 0. Code for it needs
// fewer operations: its result never overflows.
ir::Expr bound_exponents(const Workload& workload, const Stage& stage);

}  // namespace lathe::te
