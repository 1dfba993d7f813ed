// Runs of a search on a recorded space. They need no hardware, and equal seeds give equal curves.
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
  // A run ends when it reaches this share of the recording's best speed: nobody asks for more.
  double enough = 1;
  bool shuffled = false;  // each seed runs on the recording with its times dealt anew by the seed
  int jobs = 1;           // runs at a time
  std::function<bool()> stop = [] { return false; };
  // The global model that a seed's run begins from; empty: none. Several threads call it.
  std::function<Result<std::shared_ptr<const model::CostModel>>(std::uint64_t seed)> begin_from;
};

// Hears of each finished run, one at a time. If it returns an error, the others end.
using Finished = std::function<Status(std::uint64_t seed, const Curve& curve)>;

// Makes one run for each seed, on up to `jobs` threads. The curve of a seed does not depend on the
// other seeds. Runs that were stopped are not told.
Status run_seeds(const recorded::Recording& recording, const Arm& arm,
                 const std::vector<std::uint64_t>& seeds, const RunOptions& options,
                 const Finished& finished);

// True if there is a source of another shape.
bool can_transfer(const recorded::Recording& recording,
                  const std::vector<const recorded::Recording*>& sources);

// Trains the global model of an arm that transfers on `rows` configurations of each source, which
// the seed draws. Sources of the recording's own shape are left out.
Result<std::shared_ptr<const model::CostModel>> global_for(
    const recorded::Recording& recording, const Arm& arm,
    const std::vector<const recorded::Recording*>& sources, int rows, std::uint64_t seed);

}  // namespace lathe::experiment
