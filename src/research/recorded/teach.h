// Turns recordings into rows to learn from, for transfer between recorded spaces.
#pragma once

#include "research/recorded/recording.h"
#include "tuner/learn/history.h"

namespace lathe::recorded {

// Appends `rows` configurations, drawn at random, or all if there are fewer. `features` is one of
// feature::known_kinds(). Features of configurations are refused, because they mean another thing
// in every space.
Status add_rows(const Recording& recording, const std::string& features, int rows,
                std::uint64_t seed, learn::History& history);

}  // namespace lathe::recorded
