// Recordings as records to learn from: transfer between recorded spaces.
#pragma once

#include "research/recorded/recording.h"
#include "tuner/learn/history.h"

namespace lathe::recorded {

// Appends `rows` configurations at random, or all where there are fewer. `features` as in
// feature::known_kinds(); those of configurations mean another thing in every space and are
// refused.
Status add_rows(const Recording& recording, const std::string& features, int rows,
                std::uint64_t seed, learn::History& history);

}  // namespace lathe::recorded
