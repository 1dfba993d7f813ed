// Tells how hard a recorded space is, by what random search needs there. That is computed, not
// simulated.
#pragma once

#include "research/recorded/recording.h"

namespace lathe::recorded {

struct Difficulty {
  int configs = 0, worked = 0, raced = 0;
  int within_5 = 0, within_1 = 0;  // configurations within 5 % and 1 % of the best
  // The trials after which random search without repetition has found one of them, in the median.
  int random_trials_95 = 0, random_trials_99 = 0;
  // The analytic default, which is known before anything is measured: its speed as a share of the
  // best (0: it failed), and its place among all, the fastest being 1.
  double default_share = 0;
  int default_place = 0;
};

Difficulty difficulty_of(const Recording& recording);

// The smallest number of draws, without repetition, after which one of `good` among `all` came up
// with probability 1/2.
int median_draws(int all, int good);

}  // namespace lathe::recorded
