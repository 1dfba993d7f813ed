// The searches that are compared on recorded spaces, by name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/tune/tune.h"

namespace lathe::bench {

struct Arm {
  std::string name;
  tune::Options options;
  int measurements_a_trial = 1;  // 2: as in the paper's figure 4, for searches without a model
  bool transfers = false;        // begins from a global model of other recordings
};

std::vector<Arm> known_arms();
// The error lists the known names.
Result<std::vector<Arm>> arms_named(const std::vector<std::string>& names);

}  // namespace lathe::bench
