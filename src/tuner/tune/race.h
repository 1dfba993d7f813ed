// The final race: "best" is only said of what won it. Internal to this room.
#pragma once

#include "tuner/tune/reporter.h"
#include "tuner/tune/state.h"

namespace lathe::tune {

// Races the fastest records, interleaved, and stores what they reached. Nothing happens where the best has already won a
// race and nothing was measured since.
Status final_race(State& state, const Subject& subject, measure::Measurer& measurer, const Options& options, Reporter& reporter);

}  // namespace lathe::tune
