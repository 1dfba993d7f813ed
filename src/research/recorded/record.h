// Measures a space whole.
#pragma once

#include <functional>

#include "research/recorded/recording.h"
#include "tuner/measure/measure.h"
#include "tuner/store/store.h"
#include "tuner/tune/tune.h"

namespace lathe::recorded {

struct RecordMeans {
  measure::Measurer& measurer;  // of the space's program, on the recording's machine and target
  CacheMode cache = CacheMode::kWarm;  // what Recording::cache_mode names
  // every trial is durable here: the same recording goes on
  store::Store& store;
  int jobs = 2;
};

// Fills `recording`, which has all but trials and failures: every configuration is measured, the
// fastest are raced again. Where the summary says that it was interrupted, there are no trials yet.
Result<tune::Summary> record(Recording& recording, const RecordMeans& means,
                             const tune::Listener& listener, const std::function<bool()>& stop);

}  // namespace lathe::recorded
