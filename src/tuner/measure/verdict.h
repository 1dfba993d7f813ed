// What is said of a candidate whose outputs are not those of the reference.
#pragma once

#include "base/result.h"
#include "tuner/measure/session.h"

namespace lathe::measure {

// Its error: that --max-error asks for more than rounding leaves; or a wrong answer, for which a
// reproducer is saved.
Error fault_of(const Task& task, const Candidate& candidate, const Built& built,
               const runner::Loaded& loaded);

}  // namespace lathe::measure
