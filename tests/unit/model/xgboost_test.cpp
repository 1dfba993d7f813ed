#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tuner/model/booster.h"
#include "tuner/model/metrics.h"
#include "tuner/model/model.h"
#include "unit/model/synthetic.h"

namespace lathe::model {
namespace {

Quality quality_on_fresh_rows(const XgboostOptions& options) {
  const auto model = make_xgboost(options);
  const Status trained = model->train(synthetic_rows(1200, 3, 1));
  EXPECT_TRUE(trained) << trained.error().text();
  const Rows fresh = synthetic_rows(900, 3, 2);
  return evaluate(scores_of(*model, fresh), fresh.seconds, fresh.workload);
}

TEST(Xgboost, RankLearnsTheOrder) {
  const Quality q = quality_on_fresh_rows({.objective = Objective::kRank});
  EXPECT_GT(q.pairwise_accuracy, 0.93);
  EXPECT_GT(q.spearman, 0.95);
  EXPECT_GT(q.top_4_peak, 0.75);
}

TEST(Xgboost, RegressionLearnsThroughput) {
  const Quality q = quality_on_fresh_rows({.objective = Objective::kRegression});
  EXPECT_LT(q.rmse, 0.65 * deviation_of_throughput(synthetic_rows(900, 3, 2)));
  EXPECT_GT(q.pairwise_accuracy, 0.8);
}

TEST(Xgboost, FailedRowsRankBelowAll) {
  const auto model = make_xgboost({});
  ASSERT_TRUE(model->train(synthetic_rows(1000, 1, 3)));
  const Rows fresh = synthetic_rows(400, 1, 4);
  const std::vector<float> scores = scores_of(*model, fresh);
  double right = 0, pairs = 0;
  for (int i = 0; i < fresh.count(); ++i)
    for (int j = 0; j < fresh.count(); ++j)
      if (std::isinf(fresh.seconds[i]) && !std::isinf(fresh.seconds[j])) {
        pairs += 1;
        right += scores[i] < scores[j] ? 1 : 0;
      }
  ASSERT_GT(pairs, 100);
  EXPECT_GT(right / pairs, 0.97);
}

// The forest that scores must be the library's own model.
TEST(Xgboost, ForestPredictsAsTheLibrary) {
  for (const int depth : {1, 3, 6, 9}) {
    const Rows rows = synthetic_rows(611, 2, 5 + static_cast<std::uint64_t>(depth));
    RankObjective objective(rows.seconds, rows.workload, 64, Resolution(0.01));
    Rng rng(1);
    const Result<Boosted> boosted =
        boost(rows.features, rows.count(), rows.width, {.max_depth = depth},
              [&](std::span<const float> scores, Gradients& out) {
                objective.gradients(scores, rng, out);
              });
    ASSERT_TRUE(boosted) << boosted.error().text();
    EXPECT_EQ(boosted->forest.trees(), 64);
    std::vector<float> scores(rows.seconds.size());
    boosted->forest.predict(rows.features, scores);
    for (std::size_t i = 0; i < scores.size(); ++i)
      ASSERT_EQ(scores[i], boosted->scores[i]) << "depth " << depth;
  }
}

TEST(Xgboost, ThreadsDoNotChangeTheModel) {
  const Rows rows = synthetic_rows(2111, 3, 6, 0.1);
  for (const Objective objective : {Objective::kRank, Objective::kRegression}) {
    std::vector<std::string> saved;
    for (const int threads : {1, 2, 1}) {
      const auto model =
          make_xgboost({.objective = objective, .rounds = 10, .threads = threads, .seed = 11});
      ASSERT_TRUE(model->train(rows));
      saved.push_back(model->save().value());
    }
    for (const std::string& other : saved) EXPECT_TRUE(other == saved[0]);
  }
}

TEST(Xgboost, SeedChangesThePairs) {
  const Rows rows = synthetic_rows(400, 1, 7, 0.3);
  const auto a = make_xgboost({.seed = 1}), b = make_xgboost({.seed = 2});
  ASSERT_TRUE(a->train(rows) && b->train(rows));
  EXPECT_NE(a->save().value(), b->save().value());
}

TEST(Xgboost, SavedModelPredictsTheSame) {
  const Rows rows = synthetic_rows(300, 2, 8);
  const auto model = make_xgboost({}), again = make_xgboost({});
  ASSERT_TRUE(model->train(rows));
  EXPECT_FALSE(again->trained());
  ASSERT_TRUE(again->load(model->save().value()));
  EXPECT_TRUE(again->trained());
  EXPECT_EQ(scores_of(*model, rows), scores_of(*again, rows));
}

TEST(Xgboost, AFailedLoadLeavesTheModel) {
  const Rows rows = synthetic_rows(300, 2, 9);
  const auto model = make_xgboost({});
  ASSERT_TRUE(model->train(rows));
  const std::vector<float> before = scores_of(*model, rows);
  std::string bytes = model->save().value();
  bytes.resize(bytes.size() / 2);
  EXPECT_FALSE(model->load(bytes));
  const auto regression = make_xgboost({.objective = Objective::kRegression});
  ASSERT_TRUE(regression->train(rows));
  EXPECT_EQ(model->load(regression->save().value()).error().message,
            "the saved cost model is of kind xgb-reg, not xgb-rank");
  EXPECT_EQ(scores_of(*model, rows), before);
}

TEST(Xgboost, BeginsFromWhatRowsTellOfCycles) {
  const Rows few = with_cycles(synthetic_rows(80, 1, 21));
  const Rows fresh = with_cycles(synthetic_rows(600, 1, 22));
  const auto accuracy = [&](const CostModel& model) {
    return evaluate(scores_of(model, fresh), fresh.seconds, fresh.workload).pairwise_accuracy;
  };
  const auto over = make_xgboost({.over_cycles = true}), alone = make_xgboost({});
  EXPECT_TRUE(over->trained());
  const auto scores = scores_of(*over, fresh);
  const auto width = static_cast<std::size_t>(fresh.width);
  for (std::size_t i = 0; i < scores.size(); ++i)
    ASSERT_FLOAT_EQ(scores[i], -4.2F * fresh.features[(i + 1) * width - 1]);
  const double before = accuracy(*over);
  EXPECT_GT(before, 0.6);
  ASSERT_TRUE(over->train(few));
  ASSERT_TRUE(alone->train(few));
  EXPECT_GT(accuracy(*over), before);
  EXPECT_GT(accuracy(*over), accuracy(*alone));
}

TEST(Xgboost, OverCyclesItIsSavedAndIsAKindOfItsOwn) {
  const Rows rows = with_cycles(synthetic_rows(300, 2, 23));
  const auto model = make_xgboost({.over_cycles = true}), plain = make_xgboost({});
  EXPECT_FALSE(model->save()) << "it has learned nothing";
  ASSERT_TRUE(model->train(rows));
  const auto again = make_xgboost({.over_cycles = true});
  ASSERT_TRUE(again->load(model->save().value()));
  EXPECT_EQ(scores_of(*model, rows), scores_of(*again, rows));
  EXPECT_EQ(plain->load(model->save().value()).error().message,
            "the saved cost model is of kind xgb-rank-cycles, not xgb-rank");
  // Over another model it adds that model's scores, in which cycles count already.
  const std::shared_ptr<const CostModel> global = make_xgboost({.over_cycles = true});
  const auto local = make_xgboost({.global = global, .over_cycles = true});
  EXPECT_EQ(scores_of(*local, rows), scores_of(*global, rows));
  EXPECT_EQ(local->train(rows).has_value(), true);
  EXPECT_FALSE(local->save()) << "it needs the other";
  const auto regression = make_xgboost({.objective = Objective::kRegression, .over_cycles = true});
  EXPECT_FALSE(regression->train(rows));
}

TEST(Xgboost, RefusesWrongUse) {
  const auto model = make_xgboost({});
  std::vector<float> scores(2);
  const std::vector<float> row(22, 0);
  EXPECT_EQ(model->predict(row, 11, scores).error().message,
            "the cost model cannot predict before it is trained or loaded");
  EXPECT_FALSE(model->save());
  EXPECT_EQ(model->train({}).error().message, "the cost model was given no rows to train on");
  Rows rows = synthetic_rows(50, 1, 10);
  rows.seconds[7] = 0;
  EXPECT_EQ(model->train(rows).error().message,
            "the time of training row 7 is 0: it must be above 0");
  rows = synthetic_rows(50, 1, 10);
  rows.features[23] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(model->train(rows).error().message, "feature 1 of training row 2 is not finite");
  rows = synthetic_rows(50, 1, 10);
  rows.spread.assign(49, 0);
  EXPECT_EQ(model->train(rows).error().message, "training data disagrees: 50 times, 49 spreads");
  rows.spread.assign(50, 0);
  rows.spread[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(model->train(rows).error().message,
            "the spread of training row 3 is nan: it must be 0 or more");
  rows.seconds[3] = rows.spread[3];
  EXPECT_EQ(model->train(rows).error().message,
            "the time of training row 3 is nan: it must be above 0");
  ASSERT_TRUE(model->train(synthetic_rows(50, 1, 10)));
  EXPECT_EQ(model->predict(row, 22, scores).error().message,
            "the cost model was trained on rows of 11 features, not 22");
  EXPECT_EQ(make_xgboost({.max_depth = 40})->train(synthetic_rows(50, 1, 10)).error().message,
            "cost model option max_depth is 40, it must be from 1 to 12");
}

// The first batches of a run: few rows, all equal, or all failed.
TEST(Xgboost, LearnsFromVeryLittle) {
  for (const int count : {1, 2, 3, 16}) {
    const auto model = make_xgboost({});
    const Rows rows = synthetic_rows(count, 1, 12);
    ASSERT_TRUE(model->train(rows)) << count;
    EXPECT_TRUE(model->trained());
    for (const float score : scores_of(*model, rows)) EXPECT_TRUE(std::isfinite(score));
  }
  Rows failed = synthetic_rows(16, 1, 13);
  for (double& s : failed.seconds) s = std::numeric_limits<double>::infinity();
  for (const Objective objective : {Objective::kRank, Objective::kRegression}) {
    const auto model = make_xgboost({.objective = objective});
    ASSERT_TRUE(model->train(failed));
    for (const float score : scores_of(*model, failed)) EXPECT_TRUE(std::isfinite(score));
  }
}

TEST(Xgboost, PredictsFromManyThreadsWhileRetrained) {
  const Rows rows = synthetic_rows(300, 1, 14);
  const auto model = make_xgboost({.rounds = 8});
  ASSERT_TRUE(model->train(rows));
  const std::vector<float> expected = scores_of(*model, rows);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      std::vector<float> scores(rows.seconds.size());
      for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(model->predict(rows.features, rows.width, scores));
        ASSERT_EQ(scores, expected);
      }
    });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(model->train(rows));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lathe::model
