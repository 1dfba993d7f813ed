// Measurements that are looked up instead of made.
#pragma once

#include <memory>

#include "research/recorded/recording.h"
#include "tuner/measure/measure.h"
#include "tuner/tune/tune.h"

namespace lathe::recorded {

// Makes a measurer that answers at once, in the order of the candidates, with what the recording
// believes of each configuration. It refuses candidates whose configuration the recording does not
// have. `recording` must outlive it.
std::unique_ptr<measure::Measurer> make_replay(const Recording& recording);

// Makes `options` fit a search on a recording: code generator, cache and flavour are the
// recording's.
tune::Options replay_options(const Recording& recording, tune::Options options);

}  // namespace lathe::recorded
