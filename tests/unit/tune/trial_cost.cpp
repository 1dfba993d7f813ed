#include "tuner/tune/trial_cost.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace lathe::tune {
namespace {

// Knob 0 doubles the time of building with each value, knob 1 does nothing, a few are off by half.
double build_seconds(const space::Config& config, Rng& rng) {
  return 0.01 * (1 << config[0]) * (rng.chance(0.1) ? 1.5 : 1);
}

space::Config random_config(Rng& rng) {
  return {static_cast<std::uint16_t>(rng.below(4)), static_cast<std::uint16_t>(rng.below(7))};
}

TEST(TrialCost, IsLearnedOfTheTrials) {
  Rng rng(1);
  TrialCost cost(false, 1);
  for (int i = 0; i < 200; ++i) {
    const space::Config config = random_config(rng);
    cost.add(config, build_seconds(config, rng), 0.0001);
    if (i != 10) continue;
    cost.fit();
    EXPECT_EQ(cost.excess({3, 0}), 0) << "too little is known";
  }
  cost.fit();
  for (std::uint16_t other = 0; other < 7; ++other) {
    EXPECT_EQ(cost.excess({0, other}), 0) << "cheaper than half of them";
    EXPECT_NEAR(cost.excess({3, other}) - cost.excess({2, other}), 1, 0.3) << "a doubling";
    EXPECT_GT(cost.excess({3, other}), 0.9);
  }
  EXPECT_EQ(cost.excess({9, 9}), 0) << "of values never seen nothing is known";
}

TEST(TrialCost, WhatIsBuiltWhileOthersRunCostsOnlyWhatItTakesLonger) {
  Rng rng(2);
  TrialCost hidden(true, 2), shown(false, 2);
  for (int i = 0; i < 100; ++i) {
    const space::Config config = random_config(rng);
    hidden.add(config, build_seconds(config, rng), 0.2);
    shown.add(config, build_seconds(config, rng), 0.05);
  }
  hidden.fit();
  shown.fit();
  EXPECT_NEAR(hidden.excess({3, 0}), 0, 0.05);
  EXPECT_GT(shown.excess({3, 0}), 0.3);
}

TEST(TrialCost, TimesThatAreNoneAreLeftOut) {
  TrialCost cost(false, 1);
  for (int i = 0; i < 50; ++i) cost.add({1}, 0, 0);
  cost.fit();
  EXPECT_EQ(cost.excess({1}), 0);
}

}  // namespace
}  // namespace lathe::tune
