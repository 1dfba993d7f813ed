// Runs of a search on a recorded space: no hardware, the same curve for the same seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "research/experiment/arms.h"
#include "research/experiment/curve.h"
#include "research/recorded/recording.h"

namespace lathe::experiment {

struct RunOptions {
  int trials = 800;
  // a run ends at this share of the recording's best speed: nothing after it is asked for
  double enough = 1;
  bool shuffled = false;  // each seed on the recording with its times dealt anew by it
  int jobs = 1;           // runs at a time
  std::function<bool()> stop = [] { return false; };
  // The global model that a seed's run begins from; empty: none. Asked from several threads.
  std::function<Result<std::shared_ptr<const model::CostModel>>(std::uint64_t seed)> begin_from;
};

// Hears of each finished run, one at a time; an error of it ends the others.
using Finished = std::function<Status(std::uint64_t seed, const Curve& curve)>;

// One run a seed, on up to `jobs` threads. Which curve a seed gives depends on none of the others.
// Runs that were stopped are not heard of.
Status run_seeds(const recorded::Recording& recording, const Arm& arm,
                 const std::vector<std::uint64_t>& seeds, const RunOptions& options,
                 const Finished& finished);

// Whether there is a source of another shape.
bool can_transfer(const recorded::Recording& recording,
                  const std::vector<const recorded::Recording*>& sources);

// f_global for an arm that transfers: trained on `rows` configurations of each source, drawn by the
// seed. Sources of the recording's own shape are left out.
Result<std::shared_ptr<const model::CostModel>> global_for(
    const recorded::Recording& recording, const Arm& arm,
    const std::vector<const recorded::Recording*>& sources, int rows, std::uint64_t seed);

}  // namespace lathe::experiment
