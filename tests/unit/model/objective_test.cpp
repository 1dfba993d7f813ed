#include "tuner/model/objective.h"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tuner/model/metrics.h"
#include "unit/model/synthetic.h"

namespace lathe::model {
namespace {

TEST(Objective, FasterKnowsNoiseAndFailure) {
  EXPECT_EQ(faster(1, 2, 0.01), 1);
  EXPECT_EQ(faster(2, 1, 0.01), -1);
  EXPECT_EQ(faster(1, 1.005, 0.01), 0);
  EXPECT_EQ(faster(1, kFailed, 0.01), 1);
  EXPECT_EQ(faster(kFailed, 1, 0.01), -1);
  EXPECT_EQ(faster(kFailed, kFailed, 0.01), 0);
}

// The gradient against differences of the loss, up to the common scale of a workload.
TEST(Objective, RankGradientIsTheLossesSlope) {
  const std::vector<double> seconds = {1, 3, 2, kFailed, 1.001, 5};
  const std::vector<int> workload(6, 4);
  RankObjective objective(seconds, workload, 64, Resolution(0.01));
  std::vector<float> scores = {0.3F, -0.2F, 0.5F, 0.1F, 0.0F, 0.9F};
  Rng rng(1);
  Gradients g;
  objective.gradients(scores, rng, g);
  constexpr float kStep = 1e-3F;
  std::vector<double> slope(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    std::vector<float> up = scores, down = scores;
    up[i] += kStep;
    down[i] -= kStep;
    slope[i] = (objective.loss(up, rng) - objective.loss(down, rng)) / (up[i] - down[i]);
  }
  const double scale = g.first[0] / slope[0];
  EXPECT_GT(scale, 0);
  for (std::size_t i = 0; i < scores.size(); ++i)
    EXPECT_NEAR(g.first[i], scale * slope[i], 2e-3 * scale) << i;
}

TEST(Objective, SecondDerivativeIsOneOnAverage) {
  const std::vector<double> seconds = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<int> workload = {0, 0, 0, 0, 0, 1, 1};
  RankObjective objective(seconds, workload, 64, Resolution(0.01));
  Rng rng(1);
  Gradients g;
  objective.gradients(std::vector<float>(7, 0.25F), rng, g);
  for (const float h : g.second) EXPECT_NEAR(h, 1, 1e-6);
}

TEST(Objective, PairsStayWithinAWorkload) {
  // Alone in their workloads: no pair, no gradient.
  const std::vector<double> seconds = {1, 2, 3};
  RankObjective objective(seconds, std::vector<int>{0, 1, 2}, 64, Resolution(0.01));
  Rng rng(1);
  Gradients g;
  objective.gradients(std::vector<float>{3, 2, 1}, rng, g);
  EXPECT_EQ(g.first, std::vector<float>(3, 0));
  EXPECT_EQ(g.second, std::vector<float>(3, 0));
}

TEST(Objective, PairsWithinTheirMeasuredSpreadAreDropped) {
  // The first two are 5 % apart and measured to within 2 % and 4 %; the third is far from both.
  const std::vector<double> seconds = {1, 1.05, 2}, spread = {0.02, 0.04, 0.04};
  const std::vector<int> workload(3, 0);
  const std::vector<float> scores(3, 0);
  Rng rng(1);
  Gradients vague, sharp;
  RankObjective(seconds, workload, 64, Resolution(0.01, spread)).gradients(scores, rng, vague);
  RankObjective(seconds, workload, 64, Resolution(0.01)).gradients(scores, rng, sharp);
  EXPECT_FLOAT_EQ(vague.first[0], vague.first[1]) << "nothing tells them apart";
  EXPECT_LT(sharp.first[0], sharp.first[1]);
  EXPECT_GT(vague.first[2], 0);
  // A spread below the floor changes nothing.
  Gradients floor;
  const std::vector<double> none(3, 0);
  RankObjective(seconds, workload, 64, Resolution(0.01, none)).gradients(scores, rng, floor);
  EXPECT_EQ(floor.first, sharp.first);
}

TEST(Objective, AtMostSixtyFourPairsARow) {
  // At equal scores every pair adds the same curvature to both its rows, so equal curvature means
  // equally many pairs.
  for (const int n : {66, 67, 101, 500}) {
    std::vector<double> seconds;
    for (int i = 0; i < n; ++i) seconds.push_back(1 + i);
    RankObjective objective(seconds, std::vector<int>(seconds.size(), 0), 64, Resolution(0.0));
    Rng rng(static_cast<std::uint64_t>(n));
    Gradients g;
    objective.gradients(std::vector<float>(seconds.size(), 0), rng, g);
    for (const float h : g.second) ASSERT_NEAR(h, 1, 1e-5) << n;
    // The fastest row wins all its pairs: slope -1/2 where the curvature is 1/4 a pair.
    EXPECT_NEAR(g.first.front(), -2, 1e-4) << n;
    EXPECT_NEAR(g.first.back(), 2, 1e-4) << n;
  }
}

TEST(Objective, SameSeedSamePairs) {
  std::vector<double> seconds;
  for (int i = 0; i < 300; ++i) seconds.push_back(1 + i % 37);
  const std::vector<float> scores(seconds.size(), 0);
  const std::vector<int> workload(seconds.size(), 0);
  Gradients a, b, c;
  for (auto [seed, out] : {std::pair{7, &a}, {7, &b}, {8, &c}}) {
    RankObjective objective(seconds, workload, 64, Resolution(0.01));
    Rng rng(static_cast<std::uint64_t>(seed));
    objective.gradients(scores, rng, *out);
  }
  EXPECT_EQ(a.first, b.first);
  EXPECT_NE(a.first, c.first);
}

TEST(Objective, RegressionIsOnThroughputOfTheWorkload) {
  const std::vector<double> seconds = {1, 2, kFailed, 100, 400};
  const std::vector<int> workload = {0, 0, 0, 1, 1};
  const RegressionObjective objective(seconds, workload);
  Gradients g;
  objective.gradients(std::vector<float>(5, 0), g);
  EXPECT_EQ(g.first, (std::vector<float>{-1, -0.5F, 0, -1, -0.25F}));
  EXPECT_EQ(g.second, std::vector<float>(5, 1));
}

TEST(Objective, RoundedGradientsSumExactly) {
  Rng rng(99);
  Gradients g;
  for (int i = 0; i < 10'000; ++i) {
    g.first.push_back(static_cast<float>(rng.normal() * std::exp(rng.normal())));
    g.second.push_back(static_cast<float>(rng.uniform()));
  }
  const Gradients before = g;
  round_for_exact_sums(g);
  double forward = 0, backward = 0, strided = 0;
  for (std::size_t i = 0; i < g.first.size(); ++i) {
    forward += g.first[i];
    backward += g.first[g.first.size() - 1 - i];
    strided += g.first[i * 7919 % g.first.size()];
    ASSERT_NEAR(g.first[i], before.first[i], 1e-5);
    ASSERT_NEAR(g.second[i], before.second[i], 1e-6);
  }
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(forward, strided);
}

}  // namespace
}  // namespace lathe::model
