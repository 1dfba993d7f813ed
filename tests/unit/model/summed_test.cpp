// Models whose scores are sums over the blocks of a program.
#include "tuner/model/summed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tuner/model/metrics.h"
#include "tuner/model/model.h"
#include "unit/model/synthetic.h"

namespace lathe::model {
namespace {

constexpr feature::BlockRow kBlockRow{2, 5};
constexpr int kMost = 4;  // blocks
constexpr int kWidth = kBlockRow.whole + kMost * kBlockRow.block;

// Programs of one to four blocks, whose times add up; a block's time follows from its own features.
Rows programs(int count, std::uint64_t seed) {
  Rng rng(seed);
  Rows rows;
  rows.width = kWidth;
  for (int i = 0; i < count; ++i) {
    std::vector<float> row(kWidth, 0.0F);
    row[0] = static_cast<float>(rng.below(3));
    const auto blocks = static_cast<int>(1 + rng.below(kMost));
    row[1] = static_cast<float>(blocks);
    double seconds = 0;
    for (int b = 0; b < blocks; ++b) {
      float* part = row.data() + kBlockRow.whole + b * kBlockRow.block;
      part[0] = 1;
      for (int k = 1; k < kBlockRow.block; ++k) part[k] = static_cast<float>(rng.below(6));
      seconds += std::exp(0.5 * part[1] - 0.3 * part[2] + 0.2 * std::abs(part[3] - 3));
    }
    rows.features.insert(rows.features.end(), row.begin(), row.end());
    rows.seconds.push_back(1e-3 * seconds * (1 + 0.2 * row[0]));
    rows.workload.push_back(i % 2);
  }
  return rows;
}

// The same programs with their blocks the other way round.
Rows reversed(Rows rows) {
  for (int i = 0; i < rows.count(); ++i) {
    float* row = rows.features.data() + static_cast<std::ptrdiff_t>(i) * kWidth;
    float* first = row + kBlockRow.whole;
    const auto blocks = static_cast<int>(row[1]);
    for (int b = 0; b < blocks / 2; ++b)
      std::swap_ranges(first + b * kBlockRow.block, first + (b + 1) * kBlockRow.block,
                       first + (blocks - 1 - b) * kBlockRow.block);
  }
  return rows;
}

XgboostOptions on_blocks(Objective objective) {
  return {.objective = objective, .seed = 3, .block_row = kBlockRow};
}

TEST(SummedScores, BlocksOfARow) {
  const Rows rows = programs(37, 1);
  const BlockRows blocks = block_rows(rows.features, kWidth, kBlockRow);
  ASSERT_EQ(blocks.features.size(), blocks.program.size() * (kBlockRow.whole + kBlockRow.block));
  std::size_t at = 0;
  for (int i = 0; i < rows.count(); ++i) {
    const float* row = rows.features.data() + static_cast<std::ptrdiff_t>(i) * kWidth;
    for (int b = 0; b < static_cast<int>(row[1]); ++b, ++at) {
      ASSERT_EQ(blocks.program[at], i);
      const float* own = blocks.features.data() + at * (kBlockRow.whole + kBlockRow.block);
      EXPECT_EQ(own[1], row[1]);
      EXPECT_EQ(own[kBlockRow.whole + 3], row[kBlockRow.whole + b * kBlockRow.block + 3]);
    }
  }
  EXPECT_EQ(at, blocks.program.size());
}

TEST(SummedScores, DerivativesGoToEveryBlock) {
  const BlockRows rows{{}, {0, 0, 0, 2}};
  Gradients blocks;
  share_with_blocks({{1, 2, 3}, {0.5F, 0.25F, 1}}, rows, blocks);
  EXPECT_EQ(blocks.first, (std::vector<float>{1, 1, 1, 3}));
  EXPECT_EQ(blocks.second, (std::vector<float>{1.5F, 1.5F, 1.5F, 1}));
  EXPECT_EQ(sum_blocks(std::vector<float>{1, 2, 4, 8}, rows, 3), (std::vector<float>{7, 0, 8}));
}

TEST(SummedScores, LearnFromFewProgramsWhatBlocksCost) {
  const Rows known = programs(160, 1), fresh = programs(900, 2);
  const auto quality = [&](const XgboostOptions& options) {
    const auto model = make_xgboost(options);
    const Status trained = model->train(known);
    EXPECT_TRUE(trained) << trained.error().text();
    return evaluate(scores_of(*model, fresh), fresh.seconds, fresh.workload).pairwise_accuracy;
  };
  const double summed = quality(on_blocks(Objective::kRank));
  EXPECT_GT(summed, 0.85);
  EXPECT_GT(summed, quality({.objective = Objective::kRank, .seed = 3}));
}

TEST(SummedScores, DoNotDependOnTheOrderOfBlocks) {
  for (const Objective objective : {Objective::kRank, Objective::kRegression}) {
    const auto model = make_xgboost(on_blocks(objective));
    ASSERT_TRUE(model->train(programs(200, 4)));
    const Rows rows = programs(100, 5);
    const std::vector<float> one = scores_of(*model, rows),
                             other = scores_of(*model, reversed(rows));
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-4);
  }
}

TEST(SummedScores, EnsemblesSumThem) {
  const auto model = make_bootstrap({.member = on_blocks(Objective::kRegression), .members = 3});
  ASSERT_TRUE(model->train(programs(300, 6)));
  const Rows fresh = programs(400, 7);
  EXPECT_GT(evaluate(scores_of(*model, fresh), fresh.seconds, fresh.workload).pairwise_accuracy,
            0.8);
}

TEST(SummedScores, AreSavedAndLoaded) {
  const auto model = make_xgboost(on_blocks(Objective::kRank));
  ASSERT_TRUE(model->train(programs(200, 8)));
  const auto bytes = model->save();
  ASSERT_TRUE(bytes);
  const auto again = make_xgboost(on_blocks(Objective::kRank));
  ASSERT_TRUE(again->load(*bytes));
  const Rows rows = programs(70, 9);
  EXPECT_EQ(scores_of(*again, rows), scores_of(*model, rows));
  EXPECT_FALSE(make_xgboost({})->load(*bytes)) << "a model of whole rows must not take it";
}

TEST(SummedScores, RefuseRowsThatAreNotMadeOfBlocks) {
  const auto model = make_xgboost(on_blocks(Objective::kRank));
  ASSERT_TRUE(model->train(programs(200, 10)));
  std::vector<float> scores(3);
  const std::vector<float> short_rows(3 * (kWidth - 1));
  EXPECT_EQ(model->predict(short_rows, kWidth - 1, scores).error().kind,
            ErrorKind::kInvalidArgument);
  Rows empty = programs(3, 11);
  std::ranges::fill(empty.features, 0.0F);
  EXPECT_EQ(model->train(empty).error().message, "the cost model was given no blocks to train on");
}

}  // namespace
}  // namespace lathe::model
