// What every step must keep of scans, checked once a step is done.
#pragma once

#include "compiler/schedule/step.h"

namespace lathe::schedule {

// Refuses (kBreaksScan) where the nest after a step no longer computes the elements of a scan in
// order: loops along its axis are serial or written out, follow each other as before, and repeat
// nothing; its result is whole, in memory, while they run.
StepResult<void> check_scans(const ir::Nest& before, const ir::Nest& after);

// The same where blocks read what later blocks of the same loops write, one or more iterations
// before: the stages of a recurrence. The loops along its axis stay around all of them.
StepResult<void> check_recurrences(const ir::Nest& before, const ir::Nest& after);

}  // namespace lathe::schedule
