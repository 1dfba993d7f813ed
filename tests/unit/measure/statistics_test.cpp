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
  const std::vector<Visit> visits{
      {{10, 10, 10, 50}, 1, {}}, {{12, 12, 12}, 1, {}}, {{30, 30, 30}, 1, {}}};
  EXPECT_EQ(estimate(visits, 1, 0.03), 12);
}

TEST(Estimate, LeavesOutDisturbedVisitsUnlessAllAre) {
  const std::vector<Visit> visits{{{10}, 1, {}}, {{20}, 1.5, {}}, {{30}, 1.5, {}}};
  EXPECT_EQ(estimate(visits, 1, 0.03), 10);
  EXPECT_EQ(estimate(visits, 0.5, 0.03), 20);
  EXPECT_EQ(estimate({}, 1, 0.03), std::numeric_limits<double>::infinity());
}

TEST(Estimate, LeavesOutCallsThatTheSchedulerDisturbedUnlessAllWere) {
  const std::vector<Visit> visits{{{}, 1, {5, 5}}, {{20}, 1.5, {7}}, {{}, 1, {6}}};
  EXPECT_EQ(estimate(visits, 1, 0.03), 20) << "a visit that counts, though its sentinel was slow";
  EXPECT_EQ(estimate(std::vector<Visit>{{{}, 1, {5, 5}}, {{}, 1, {7}}, {{}, 1, {6}}}, 1, 0.03), 6);
}

TEST(Speed, IsWhatTheSlowerKernelSays) {
  EXPECT_DOUBLE_EQ(share_of({1e11, 1e-4}, {2e11, 1e-4}), 0.5);
  EXPECT_DOUBLE_EQ(share_of({2e11, 2e-4}, {2e11, 1e-4}), 0.5);
  EXPECT_DOUBLE_EQ(share_of({3e11, 5e-5}, {2e11, 1e-4}), 1) << "faster than it was known";
  EXPECT_DOUBLE_EQ(share_of({2e11, 2e-4}, {}), 1) << "nothing is known";
  EXPECT_DOUBLE_EQ(share_of({}, {2e11, 1e-4}), 1);
}

TEST(SentinelGate, RemembersTheFastestSpeedItSaw) {
  SentinelGate gate(0.03);
  for (int i = 0; i < 5; ++i) gate.disturbed(100);
  EXPECT_EQ(gate.fastest(), 0) << "too few to tell";
  for (int i = 0; i < 5; ++i) gate.disturbed(100);
  for (int i = 0; i < 200; ++i) gate.disturbed(130);
  EXPECT_EQ(gate.normal(), 130);
  EXPECT_EQ(gate.fastest(), 100);
}

TEST(Agree, TwoUndisturbedVisitsThatSayTheSameAreEnough) {
  const Visit ten{{10, 10, 10.1}, 1, {}}, near{{10.05, 10.05, 11}, 1.02, {}},
      slow{{11, 11, 11}, 1, {}};
  const Visit disturbed{{10, 10, 10}, 1.2, {}}, uncounted{{}, 1, {10}};
  const auto agreed = [](std::vector<Visit> visits) { return agree(visits, 1, 0.03); };
  EXPECT_TRUE(agreed({ten, near}));
  EXPECT_FALSE(agreed({ten}));
  EXPECT_FALSE(agreed({ten, slow}));
  EXPECT_FALSE(agreed({ten, near, slow})) << "one of them is wrong";
  EXPECT_FALSE(agreed({ten, disturbed}));
  EXPECT_FALSE(agreed({ten, uncounted}));
  EXPECT_FALSE(agree(std::vector<Visit>{ten, near}, 0, 0.03)) << "nothing is known of the machine";
}

}  // namespace
}  // namespace lathe::measure
