// Measurements looked up instead of made.
#pragma once

#include <memory>

#include "research/recorded/recording.h"
#include "tuner/measure/measure.h"
#include "tuner/tune/tune.h"

namespace lathe::recorded {

// Answers in the order asked, at once, with what the recording believes of each configuration.
// Refuses candidates whose configuration it does not have. `recording` must outlive it.
std::unique_ptr<measure::Measurer> make_replay(const Recording& recording);

// `options` for a search on a recording: code generator, cache and flavour are its own.
tune::Options replay_options(const Recording& recording, tune::Options options);

}  // namespace lathe::recorded
