// A schedule that is never the best and never terrible: for programs that run once.
#pragma once

#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe::measure::cpu {

// Rewrites by algebra, vectorizes the last spatial loop of each stage, keeps a few vectors of
// accumulators in registers where there is a reduction, and leaves everything else in declared
// order.
schedule::Trace plain_schedule(const te::Workload& workload, const Target& host);

}  // namespace lathe::measure::cpu
