#include "tuner/measure/statistics.h"

#include <gtest/gtest.h>

#include <limits>

namespace lathe::measure {
namespace {

TEST(SentinelGate, NoticesADisturbanceAndGetsUsedToANewSpeed) {
  SentinelGate gate(0.03);
  EXPECT_FALSE(gate.disturbed(100));  // nothing to compare with
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(gate.disturbed(100 + i % 3));
  EXPECT_TRUE(gate.disturbed(110));
  EXPECT_FALSE(gate.disturbed(101));
  for (int i = 0; i < 200; ++i) gate.disturbed(120);
  EXPECT_FALSE(gate.disturbed(121));
  EXPECT_NEAR(gate.normal(), 120, 1);
}

TEST(Estimate, IsTheMedianOfLowerQuartiles) {
  const std::vector<Visit> visits{{{10, 10, 10, 50}, 1}, {{12, 12, 12}, 1}, {{30, 30, 30}, 1}};
  EXPECT_EQ(estimate(visits, 1, 0.03), 12);
}

TEST(Estimate, LeavesOutDisturbedVisitsUnlessAllAre) {
  const std::vector<Visit> visits{{{10}, 1}, {{20}, 1.5}, {{30}, 1.5}};
  EXPECT_EQ(estimate(visits, 1, 0.03), 10);
  EXPECT_EQ(estimate(visits, 0.5, 0.03), 20);
  EXPECT_EQ(estimate({}, 1, 0.03), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace lathe::measure
