// One search on one recording, until it has found what is good.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "base/result.h"
#include "search/arms.h"
#include "tuner/recorded/recording.h"

namespace lathe::bench {

// Trials, in the order they were measured, until one is within 5 % and within 1 % of the recording's best speed; infinity
// where the run ended before. A trial has several measurements where the arm says so.
struct Reached {
  double trials_95 = std::numeric_limits<double>::infinity();
  double trials_99 = std::numeric_limits<double>::infinity();
};
Result<Reached> race_to_best(const recorded::Recording& recording, const Arm& arm, std::uint64_t seed, int trials);

// The same for seeds 0, 1, ...; `jobs` runs at a time. With `shuffle`, each on the recording with its times dealt anew by
// the seed.
Result<std::vector<Reached>> race_seeds(const recorded::Recording& recording, const Arm& arm, int seeds, int trials, int jobs,
                                        bool shuffle);

}  // namespace lathe::bench
