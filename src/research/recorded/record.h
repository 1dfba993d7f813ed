// Measures a space whole.
#pragma once

#include <functional>

#include "research/recorded/recording.h"
#include "tuner/measure/measure.h"
#include "tuner/store/store.h"
#include "tuner/tune/tune.h"

namespace lathe::recorded {

struct RecordingMeans {
  measure::Measurer& measurer;  // of the space's program, on the recording's machine and target
  CacheMode cache = CacheMode::kWarm;  // what Recording::cache_mode names
  // Every trial is durable here, so that the same recording can go on later.
  store::Store& store;
  int jobs = 2;
};

// Fills `recording`, which has all but trials and failures: measures every configuration and races
// the fastest again. If the summary says that it was interrupted, there are no trials yet.
Result<tune::Summary> record(Recording& recording, const RecordingMeans& means,
                             const tune::Listener& listener, const std::function<bool()>& stop);

}  // namespace lathe::recorded
