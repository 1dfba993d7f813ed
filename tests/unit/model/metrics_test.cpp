#include "tuner/model/metrics.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "unit/model/synthetic.h"

namespace lathe::model {
namespace {

TEST(Metrics, PerfectOrder) {
  const std::vector<float> scores = {4, 3, 2, 1};
  const std::vector<double> seconds = {1, 2, 3, kFailed};
  EXPECT_DOUBLE_EQ(pairwise_accuracy(scores, seconds), 1);
  EXPECT_DOUBLE_EQ(top_k_recall(scores, seconds, 2), 1);
  EXPECT_DOUBLE_EQ(peak_at_k(scores, seconds, 1), 1);
}

TEST(Metrics, ReversedOrder) {
  const std::vector<float> scores = {1, 2, 3};
  const std::vector<double> seconds = {1, 2, 4};
  EXPECT_DOUBLE_EQ(pairwise_accuracy(scores, seconds), 0);
  EXPECT_NEAR(spearman(scores, seconds), -1, 1e-12);
  EXPECT_DOUBLE_EQ(top_k_recall(scores, seconds, 1), 0);
  EXPECT_DOUBLE_EQ(peak_at_k(scores, seconds, 1), 0.25);
  EXPECT_DOUBLE_EQ(peak_at_k(scores, seconds, 3), 1);
}

TEST(Metrics, ByHand) {
  const std::vector<float> scores = {3, 4, 1, 1};
  const std::vector<double> seconds = {1, 2, 3, 4};
  // Pairs in order: wrong, right, right, right, right, tie.
  EXPECT_DOUBLE_EQ(pairwise_accuracy(scores, seconds), 4.5 / 6);
  // Ranks of scores 2 3 0.5 0.5, of times 0 1 2 3: correlation -3.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(spearman(scores, seconds), 3.5 / std::sqrt(4.5 * 5), 1e-12);
}

TEST(Metrics, TheFastestTenthIsJudgedApart) {
  // Twenty rows that worked, in the right order but for the fastest two, and one that failed.
  std::vector<float> scores;
  std::vector<double> seconds;
  for (int i = 0; i < 20; ++i) {
    scores.push_back(static_cast<float>(-i));
    seconds.push_back(1 + i);
  }
  std::swap(scores[0], scores[1]);
  scores.push_back(50);
  seconds.push_back(kFailed);
  EXPECT_DOUBLE_EQ(fast_pairwise_accuracy(scores, seconds), 0);
  EXPECT_GT(pairwise_accuracy(scores, seconds), 0.85);
  EXPECT_TRUE(std::isnan(fast_pairwise_accuracy(scores, seconds, 2.0)))
      << "nothing is so far apart";
  EXPECT_TRUE(std::isnan(fast_pairwise_accuracy(std::vector<float>{1}, std::vector<double>{1})));
  EXPECT_TRUE(std::isnan(fast_pairwise_accuracy({}, {})));
}

TEST(Metrics, ConstantScoresAreNotLucky) {
  const std::vector<float> scores = {7, 7, 7, 7, 7};
  const std::vector<double> seconds = {1, 2, 3, 4, kFailed};
  EXPECT_DOUBLE_EQ(pairwise_accuracy(scores, seconds), 0.5);
  EXPECT_DOUBLE_EQ(top_k_recall(scores, seconds, 2), 0);
  EXPECT_DOUBLE_EQ(peak_at_k(scores, seconds, 1), 0);
  EXPECT_TRUE(std::isnan(spearman(scores, seconds)));
}

TEST(Metrics, RecallWhereFewerThanKWorked) {
  const std::vector<double> seconds = {1, kFailed, kFailed, kFailed, kFailed};
  EXPECT_DOUBLE_EQ(top_k_recall(std::vector<float>{1, 2, 3, 4, 5}, seconds, 4), 0.75)
      << "the one that worked is not among them";
  EXPECT_DOUBLE_EQ(top_k_recall(std::vector<float>{5, 2, 3, 4, 1}, seconds, 4), 1);
}

TEST(Metrics, NoiseFormsNoPairs) {
  const std::vector<float> scores = {1, 2};
  const std::vector<double> seconds = {1.000, 1.005};
  EXPECT_TRUE(std::isnan(pairwise_accuracy(scores, seconds, 0.01)));
  EXPECT_DOUBLE_EQ(pairwise_accuracy(scores, seconds, 0.001), 0);
}

TEST(Metrics, FailedRowsAreEqual) {
  const std::vector<float> scores = {1, 2};
  const std::vector<double> seconds = {kFailed, kFailed};
  EXPECT_TRUE(std::isnan(pairwise_accuracy(scores, seconds)));
  EXPECT_TRUE(std::isnan(peak_at_k(scores, seconds, 1)));
  EXPECT_EQ(evaluate(scores, seconds, std::vector<int>{0, 0}).workloads, 0);
}

TEST(Metrics, RmseOfThroughput) {
  const std::vector<float> scores = {1, 0.5F, 0.3F};
  const std::vector<double> seconds = {2, 4, kFailed};
  EXPECT_NEAR(rmse(scores, seconds), 0.3 / std::sqrt(3.0), 1e-6);
}

TEST(Metrics, WorkloadsAreJudgedApart) {
  // Across the two workloads the scores are in the wrong order; within each they are right.
  const std::vector<float> scores = {2, 1, 20, 10};
  const std::vector<double> seconds = {1, 2, 100, 200};
  const Quality q = evaluate(scores, seconds, std::vector<int>{5, 5, 3, 3});
  EXPECT_EQ(q.workloads, 2);
  EXPECT_DOUBLE_EQ(q.pairwise_accuracy, 1);
  EXPECT_DOUBLE_EQ(q.top_1_peak, 1);
  EXPECT_NEAR(q.spearman, 1, 1e-12);
}

TEST(Metrics, SpearmanIgnoresMonotoneMaps) {
  Rng rng(17);
  std::vector<float> scores, mapped;
  std::vector<double> seconds;
  for (int i = 0; i < 97; ++i) {
    scores.push_back(static_cast<float>(rng.normal()));
    mapped.push_back(std::exp(scores.back()));
    seconds.push_back(rng.uniform() + 0.1);
  }
  EXPECT_NEAR(spearman(scores, seconds), spearman(mapped, seconds), 1e-12);
}

}  // namespace
}  // namespace lathe::model
