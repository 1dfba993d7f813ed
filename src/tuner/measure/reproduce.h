// Measures the candidate of a reproducer again (reproducer.h), on the same inputs.
#pragma once

#include <string>

#include "base/result.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

// Refuses a folder that another user could change (base/trust.h). Options::seed becomes the
// reproducer's. The outcome's error tells whether the fault is still there; an error of this
// function concerns the folder or the measurer.
Result<Outcome> reproduce(const std::string& folder, Options options);

}  // namespace lathe::measure
