// D of Algorithm 1, as a model and a searcher see it. Internal to this room.
#pragma once

#include <vector>

#include "tuner/tune/trial_cost.h"
#include "tuner/tune/tune.h"

namespace lathe::tune {

struct Known {
  Known(const Subject& subject, bool learns, TrialCost cost)
      : subject(subject), learns(learns), cost(std::move(cost)) {
    rows.width = subject.feature_width();
  }

  // Adds a row for the model, where one learns. `seconds` is infinity where the trial failed; times
  // compare within a `group`.
  void add_row(const space::Config& config, double seconds, int group);

  const Subject& subject;
  const bool learns;  // whether a model trains on the rows
  model::Rows rows;
  std::vector<search::Measured> measured;  // times that compare with those of the run
  TrialCost cost;                          // of the trials in `measured`
  int worked = 0;                          // trials that gave a time
};

}  // namespace lathe::tune
