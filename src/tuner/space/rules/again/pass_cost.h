// What a program costs as passes over its tensors, before it is scheduled: for what algebra may
// keep or have computed again.
#pragma once

#include "base/target.h"
#include "compiler/te/workload.h"

namespace lathe::space {

// About how many cycles the stages of a view take, one after the other: what they compute, what
// each moves through the caches and from memory, and where threads meet after it. Only ratios of
// programs that compute the same mean something.
double cycles_of_passes(const te::Workload& view, const CpuTarget& target);

}  // namespace lathe::space
