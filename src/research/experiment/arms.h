// The searches that are compared on recorded spaces, by name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/tune/tune.h"

namespace lathe::experiment {

struct Arm {
  std::string name;
  tune::Options options;
  int measurements_a_trial = 1;  // 2: as in the paper's figure 4, for searches without a model
  bool transfers = false;        // begins from a global model of other recordings
};

// Raise it with every change of searches, models or their constants after which a seed of this arm
// finds something else: runs of another version are not counted with these.
int version_of(const Arm& arm);

std::vector<Arm> known_arms();
// Finds an arm by its name. NAME-paper is the arm NAME with only what the paper has: no prior, no
// batches that grow, no chains that restart from the best measured. The error lists the known
// names.
Result<Arm> arm_named(const std::string& name);
Result<std::vector<Arm>> arms_named(const std::vector<std::string>& names);

}  // namespace lathe::experiment
