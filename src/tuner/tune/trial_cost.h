// What a trial costs, learned from those that were made, so that a search can leave dear ones out.
// Internal to this room.
#pragma once

#include <vector>

#include "tuner/space/domain.h"

namespace lathe::tune {

// Logarithms of seconds, added up of one effect a knob's value: what unrolls, peels and tiles a
// loop multiplies its code.
class TrialCost {
 public:
  // `jobs` processes work at a time. `overlap`: one of them times while others build, or builds
  // too; else all build first.
  TrialCost(bool overlap, int jobs) : overlap_(overlap), jobs_(jobs) {}

  void add(const space::Config& config, double build_seconds, double run_seconds);
  // Takes in all that were added.
  void fit();
  // Doublings over what half of the trials took less than; 0 for a cheaper one, and while too
  // little is known.
  double excess(const space::Config& config) const;

 private:
  double predict(const space::Config& config) const;

  bool overlap_;
  int jobs_;
  std::vector<space::Config> configs_;
  std::vector<double> costs_;                 // log2 of seconds
  std::vector<std::vector<double>> effects_;  // a knob, a value; empty until enough is known
};

}  // namespace lathe::tune
