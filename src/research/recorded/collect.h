// Makes a recording of the records of a run that measured every configuration of a space.
#pragma once

#include <functional>
#include <vector>

#include "research/recorded/recording.h"
#include "tuner/measure/measure.h"
#include "tuner/store/store.h"

namespace lathe::recorded {

// The records of the run that are of `recording`'s machine and code generator, so that their times
// compare: one for each configuration, in the order of all_configs(). The error says how many
// configurations have none.
Result<std::vector<store::Record>> records_of(store::Store& store, std::int64_t run,
                                              const Recording& recording);

// The `count` fastest by measured time, the fastest first; fewer if fewer worked.
std::vector<store::Record> fastest(std::vector<store::Record> records, int count);

// Races them again and again in groups drawn anew, so that a disturbance hits none of them alone.
// Returns for each the median over its races; infinity if it failed in most. Stops early without
// results when `stop` returns true. `progress` hears the finished share.
Result<std::vector<store::RaceResult>> race_all(const std::vector<store::Record>& records,
                                                measure::Measurer& measurer, CacheMode cache,
                                                const std::function<void(double)>& progress,
                                                const std::function<bool()>& stop);

// Fills `recording` with the trials that the records tell of.
Status collect(const std::vector<store::Record>& records, Recording& recording);

}  // namespace lathe::recorded
