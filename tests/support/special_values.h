// Inputs unlike most numbers: NaN, infinities, zeros of both signs, the smallest and the largest
// numbers.
#pragma once

#include <vector>

#include "base/rng.h"
#include "compiler/te/workload.h"
#include "oracle/te_eval.h"

namespace lathe {

// Like interp::random_inputs(), but about every fifth element of a floating-point tensor is
// special, and of an integer tensor an end of the range. `with_infinities`: NaN and infinities,
// too.
std::vector<interp::Tensor> special_inputs(const te::Workload& workload, Rng& rng,
                                           bool with_infinities = true);

}  // namespace lathe
