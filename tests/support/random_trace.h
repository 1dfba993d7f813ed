// Random legal schedules of a program, for property tests of everything that takes a nest.
//
//   Rng rng(seed);
//   te::Workload p = random_workload(rng);
//   RandomSchedule s = random_schedule(p, rng, {.open_sizes = true});
//   ir::SizedNest sized(s.nest, s.knobs);
// A failing test prints its seed and describe(p, s): the program, the steps, and their JSON to
// paste.
#pragma once

#include <string>

#include "base/rng.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe {

struct RandomScheduleOptions {
  schedule::Trace first;    // steps to try before the random ones
  int proposals = 24;       // steps to try; refused ones leave nothing behind
  bool open_sizes = false;  // factors and layout weights are knobs
  // Kinds, tails, prefetches and intrinsics, at which only lowering looks.
  bool annotations = true;
  std::int64_t max_iterations = 200'000;  // of all loops together, with the overhang of tails
};

struct RandomSchedule {
  ir::Nest nest;
  schedule::Trace trace;  // sizes refer to nest.sizes
  std::vector<std::int64_t> knobs;
};

RandomSchedule random_schedule(const te::Workload& workload, Rng& rng,
                               const RandomScheduleOptions& options = {});

// Legal steps with all sizes known.
schedule::Trace random_trace(const te::Workload& workload, Rng& rng);

std::string describe(const te::Workload& workload, const RandomSchedule& schedule);

}  // namespace lathe
