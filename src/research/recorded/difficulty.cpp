#include "research/recorded/difficulty.h"

#include <cmath>
#include <limits>

namespace lathe::recorded {

int median_draws(int all, int good) {
  constexpr double kRounding = 1e-9;
  double missed = 1;  // probability that none came up
  int draws = 0;
  for (; missed > 0.5 + kRounding && draws < all; ++draws)
    missed *= static_cast<double>(all - good - draws) / (all - draws);
  return draws;
}

Difficulty difficulty_of(const Recording& recording) {
  Difficulty d;
  const auto start = recording.find(recording.space->default_config());
  const double start_seconds =
      start ? recording.seconds(*start) : std::numeric_limits<double>::infinity();
  d.default_share = recording.best_seconds() / start_seconds;
  d.default_place = 1;
  d.configs = static_cast<int>(recording.configs().size());
  for (std::size_t i = 0; i < recording.configs().size(); ++i) {
    const double seconds = recording.seconds(i);
    d.worked += std::isfinite(seconds);
    d.default_place += seconds < start_seconds;
    d.raced += recording.trials()[i].raced_seconds > 0;
    d.within_5 += seconds <= recording.best_seconds() / 0.95;
    d.within_1 += seconds <= recording.best_seconds() / 0.99;
  }
  d.random_trials_95 = median_draws(d.configs, d.within_5);
  d.random_trials_99 = median_draws(d.configs, d.within_1);
  return d;
}

}  // namespace lathe::recorded
