#include "api/report/quality.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "unit/report/trials.h"

namespace lathe::report {
namespace {

// Times of 1 s, 2 s ... in some order, scored by `score`.
template <class Score>
std::vector<Trial> scored(int count, int batch, const Score& score) {
  Rng rng(5);
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(1 + rng.uniform() * count);
  auto trials = trials_of(seconds, batch);
  for (Trial& trial : trials) trial.score = score(trial);
  return trials;
}

TEST(ModelQuality, RightWrongAndNone) {
  const auto right =
      model_quality(pointers(scored(48, 16, [](const Trial& t) { return -t.seconds; })));
  ASSERT_EQ(right.size(), 3U);
  EXPECT_EQ(right[0].trials, 16);
  EXPECT_EQ(right[2].trials, 48);
  EXPECT_EQ(right[0].judged, 16);
  EXPECT_DOUBLE_EQ(right[1].pairwise_accuracy, 1);
  EXPECT_DOUBLE_EQ(right[1].rank_correlation, 1);
  const auto wrong =
      model_quality(pointers(scored(16, 16, [](const Trial& t) { return t.seconds; })));
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_DOUBLE_EQ(wrong[0].pairwise_accuracy, 0);
  EXPECT_TRUE(model_quality(pointers(scored(48, 16, [](const Trial&) { return 0.0; }))).empty());
  EXPECT_TRUE(model_quality({}).empty());
}

TEST(ModelQuality, FailedProgramsAreTheSlowest) {
  auto trials = scored(16, 16, [](const Trial& t) { return -t.seconds; });
  trials[3].seconds = kFailed;
  trials[3].score = 100;
  EXPECT_LT(model_quality(pointers(trials))[0].pairwise_accuracy, 0.9);
}

TEST(ModelQuality, WhatSaysNothingIsLeftOut) {
  auto trials = scored(16, 16, [](const Trial& t) { return -t.seconds; });
  for (Trial& trial : trials) trial.seconds = kFailed;  // no pair differs
  EXPECT_TRUE(model_quality(pointers(trials)).empty());
  EXPECT_TRUE(
      model_quality(pointers(scored(3, 3, [](const Trial& t) { return -t.seconds; }))).empty());
  const auto odd = model_quality(pointers(
      scored(16, 16, [](const Trial& t) { return t.index % 2 ? std::nan("") : -t.seconds; })));
  ASSERT_EQ(odd.size(), 1U);
  EXPECT_EQ(odd[0].judged, 8);
}

TEST(ModelQuality, ManyBatchesAreJoined) {
  const auto points =
      model_quality(pointers(scored(64'000, 32, [](const Trial& t) { return -t.seconds; })));
  EXPECT_LE(points.size(), 100U);
  EXPECT_GE(points.size(), 50U);
  EXPECT_EQ(points.back().trials, 64'000);
  int judged = 0;
  for (const Quality& q : points) {
    judged += q.judged;
    EXPECT_NEAR(q.pairwise_accuracy, 1, 1e-9);
  }
  EXPECT_EQ(judged, 64'000);
}

TEST(ModelQuality, AHugeBatchTakesNoTimeToSpeakOf) {
  const auto points =
      model_quality(pointers(scored(100'000, 100'000, [](const Trial& t) { return -t.seconds; })));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].judged, 100'000);
  EXPECT_DOUBLE_EQ(points[0].pairwise_accuracy, 1);
}

}  // namespace
}  // namespace lathe::report
