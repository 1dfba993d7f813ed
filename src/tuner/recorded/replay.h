// Measurements looked up instead of made.
#pragma once

#include <memory>

#include "tuner/measure/measure.h"
#include "tuner/recorded/recording.h"

namespace lathe::recorded {

// Answers in the order asked, at once, with what the recording believes of each configuration.
// Refuses candidates whose configuration it does not have. `recording` must outlive it.
std::unique_ptr<measure::Measurer> make_replay(const Recording& recording);

}  // namespace lathe::recorded
