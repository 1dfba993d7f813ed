// What stages cost, for rules that weigh one against another.
#pragma once

#include "compiler/te/workload.h"

namespace lathe::space {

// About how many cycles one thread needs for a stage, in vectors of so many lanes at the peak: 0
// for one that depends on constants alone.
double cycles_of(const te::Workload& workload, const te::Stage& stage, int lanes);

}  // namespace lathe::space
