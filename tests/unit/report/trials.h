// Trials to summarise.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "api/report/trial.h"

namespace lathe::report {

inline constexpr double kFailed = std::numeric_limits<double>::infinity();

// Finished a second after each other, in batches of `batch`.
inline std::vector<Trial> trials_of(const std::vector<double>& seconds, int batch = 16) {
  std::vector<Trial> out;
  for (const double s : seconds) {
    Trial trial;
    trial.index = static_cast<int>(out.size());
    trial.batch = trial.index / batch;
    trial.seconds = s;
    trial.clock = 1000.0 + trial.index;
    trial.spent.run = 0.5;
    out.push_back(trial);
  }
  return out;
}

inline std::vector<const Trial*> pointers(const std::vector<Trial>& trials) {
  std::vector<const Trial*> out;
  for (const Trial& trial : trials) out.push_back(&trial);
  return out;
}

}  // namespace lathe::report
