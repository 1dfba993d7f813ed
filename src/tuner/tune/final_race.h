// The race at the end of a run. Internal to this room.
#pragma once

#include "tuner/tune/race.h"
#include "tuner/tune/reporter.h"
#include "tuner/tune/state.h"

namespace lathe::tune {

// Seconds that a race after so many seconds of a run may take on a quiet machine.
double race_time(const Options& options, double elapsed);

// Races the fastest records, interleaved, and stores what they reached. Nothing happens where the
// best has already won an undisturbed race and nothing was measured since, of programs or of the
// machine's speed. It takes so many seconds at most, or few where these are fewer, and `stop` ends
// it at once.
Result<std::optional<RaceStory>> final_race(State& state, const Subject& subject,
                                            measure::Measurer& measurer, const Options& options,
                                            Reporter& reporter, double seconds,
                                            const std::function<bool()>& stop);

}  // namespace lathe::tune
