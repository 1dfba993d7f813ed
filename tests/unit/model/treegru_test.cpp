// TreeGRU as a cost model. What trains is skipped where this build has no libtorch.
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tuner/model/global_model.h"
#include "tuner/model/metrics.h"
#include "tuner/model/model.h"
#include "tuner/treegru/trainer.h"
#include "unit/model/synthetic.h"
#include "unit/treegru/synthetic_trees.h"

namespace lathe::model {
namespace {

using treegru::tree_rows;
using treegru::Variant;

// Small, so that tests are quick.
TreeGruOptions small(Objective objective = Objective::kRank, Variant variant = Variant::kContext) {
  return {.objective = objective,
          .shape = {.variant = variant, .embedding = 16, .hidden = 32, .slots = 4},
          .passes = 60,
          .steps = 600,
          .learning_rate = 1e-2};
}

Rows without_failures(const Rows& rows) {
  std::vector<int> worked;
  for (int i = 0; i < rows.count(); ++i)
    if (std::isfinite(rows.seconds[i])) worked.push_back(i);
  return select(rows, worked);
}

// Times closer to each other, so that not nearly all are slow beside the fastest.
Rows mild(Rows rows) {
  for (double& seconds : rows.seconds) seconds = std::pow(seconds, 0.3);
  return rows;
}

class Trained : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto can = treegru::check_trainer(); !can) GTEST_SKIP() << can.error().text();
  }
};

TEST(TreeGru, SaysWhatIsMissingWithoutLibtorch) {
  const auto can = treegru::check_trainer();
  if (can) GTEST_SKIP() << "this build has libtorch";
  EXPECT_EQ(can.error().message,
            "training TreeGRU needs libtorch, which this Lathe was built without: install "
            "libtorch-dev (scripts/install --torch) "
            "and build again, or choose an xgb model");
  EXPECT_EQ(make_treegru({})->train(tree_rows(20, 1, 1)).error().message, can.error().message);
}

TEST(TreeGru, RefusesWrongUse) {
  const auto model = make_treegru(small());
  std::vector<float> scores(2);
  const Rows rows = tree_rows(2, 1, 1);
  EXPECT_EQ(model->predict(rows.features, rows.width, scores).error().message,
            "the cost model cannot predict before it is trained or loaded");
  EXPECT_FALSE(model->save());
  EXPECT_FALSE(model->trained());
  EXPECT_EQ(model->train({}).error().message, "the cost model was given no rows to train on");
  EXPECT_EQ(model->train(synthetic_rows(50, 1, 1)).error().message,
            fmt::format("TreeGRU learns from rows of tree features, which are {} wide, not 11",
                        feature::tree_width()));
  auto options = small();
  options.shape.hidden = 20;
  EXPECT_EQ(make_treegru(options)->train(rows).error().message,
            "TreeGRU's hidden size is 20, it must be a multiple of 16 up to 4096");
  options = small();
  options.held_out = 0.7;
  EXPECT_EQ(make_treegru(options)->train(rows).error().message,
            "cost model option held_out is 0.7, it must be from 0 to 0.5");
}

TEST_F(Trained, RankLearnsThePlantedOrder) {
  const Rows fresh = without_failures(tree_rows(600, 2, 2));
  for (const Variant variant : {Variant::kContext, Variant::kVanilla}) {
    const auto model = make_treegru(small(Objective::kRank, variant));
    ASSERT_TRUE(model->train(without_failures(tree_rows(800, 2, 1))));
    const Quality q = evaluate(scores_of(*model, fresh), fresh.seconds, fresh.workload);
    EXPECT_GT(q.pairwise_accuracy, 0.88);
    EXPECT_GT(q.top_4_peak, 0.5);
  }
}

TEST_F(Trained, RegressionLearnsThroughput) {
  const Rows fresh = mild(without_failures(tree_rows(600, 1, 4)));
  for (const Variant variant : {Variant::kContext, Variant::kVanilla}) {
    const auto model = make_treegru(small(Objective::kRegression, variant));
    ASSERT_TRUE(model->train(mild(without_failures(tree_rows(800, 1, 3)))));
    const Quality q = evaluate(scores_of(*model, fresh), fresh.seconds, fresh.workload);
    EXPECT_GT(q.pairwise_accuracy, 0.75);
    EXPECT_LT(q.rmse, 0.95 * deviation_of_throughput(fresh));
  }
}

TEST_F(Trained, TheSameRowsOptionsAndSeedGiveTheSameModel) {
  const Rows rows = tree_rows(300, 2, 5);
  std::vector<std::string> saved;
  for (const int threads : {1, 3, 1}) {
    auto options = small();
    options.steps = 60;
    options.threads = threads;
    options.seed = 7;
    const auto model = make_treegru(options);
    ASSERT_TRUE(model->train(rows));
    saved.push_back(*model->save());
    ASSERT_TRUE(model->train(rows));
    EXPECT_TRUE(*model->save() == saved.back()) << "training starts from scratch";
  }
  EXPECT_TRUE(saved[0] == saved[1] && saved[0] == saved[2]);
  auto other = small();
  other.steps = 60;
  other.seed = 8;
  const auto model = make_treegru(other);
  ASSERT_TRUE(model->train(rows));
  EXPECT_FALSE(*model->save() == saved[0]);
}

// In a search: a few steps from what is known, instead of all from nothing.
TEST_F(Trained, AnUpdateGoesOnFromWhatWasLearnt) {
  const Rows rows = without_failures(tree_rows(600, 1, 16)),
             fresh = without_failures(tree_rows(600, 1, 17));
  const auto after = [&](int count) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(i);
    return select(rows, numbers);
  };
  for (const Variant variant : {Variant::kContext, Variant::kVanilla}) {
    auto options = small(Objective::kRank, variant);
    options.update_steps = 60;
    const auto order = [&](const CostModel& model) {
      return pairwise_accuracy(scores_of(model, fresh), fresh.seconds);
    };
    const auto updated = make_treegru(options), again = make_treegru(options),
               scratch = make_treegru(options);
    ASSERT_TRUE(updated->update(after(100)) && scratch->train(after(100)));
    EXPECT_EQ(*updated->save(), *scratch->save()) << "the first is from scratch";
    const double before = order(*updated);
    for (int count = 200; count <= 500; count += 100) ASSERT_TRUE(updated->update(after(count)));
    EXPECT_GT(order(*updated), before + 0.02);
    options.steps = options.update_steps;
    const auto short_course = make_treegru(options);
    ASSERT_TRUE(short_course->train(after(500)));
    EXPECT_GT(order(*updated), order(*short_course));
    for (int count = 100; count <= 500; count += 100) ASSERT_TRUE(again->update(after(count)));
    EXPECT_EQ(*again->save(), *updated->save());
  }
}

// Rows that once were taught, because there were too few to spare, do not judge what knows them by
// heart.
TEST_F(Trained, AnUpdateBeginsAnewWhereRowsAreHeldOutForTheFirstTime) {
  const Rows rows = tree_rows(400, 1, 19);
  std::vector<int> few, all;
  for (int i = 0; i < 400; ++i) (i < 12 ? few : all).push_back(i);
  all.insert(all.begin(), few.begin(), few.end());
  auto options = small();
  options.steps = 20;
  const auto model = make_treegru(options), scratch = make_treegru(options);
  ASSERT_TRUE(model->update(select(rows, few)) && model->update(select(rows, all)) &&
              scratch->train(select(rows, all)));
  EXPECT_EQ(*model->save(), *scratch->save());
  ASSERT_TRUE(model->update(select(rows, all)));
  EXPECT_NE(*model->save(), *scratch->save()) << "from then on it goes on";
}

// Held-out rows of which no two are of one workload tell nothing: training goes to its end.
TEST_F(Trained, LearnsWhereTheHeldOutRowsFormNoPairs) {
  Rows rows = without_failures(tree_rows(900, 1, 20));
  const Rows fresh = without_failures(tree_rows(400, 1, 21));
  for (std::size_t i = 0; i < rows.seconds.size(); ++i) rows.workload[i] = static_cast<int>(i / 2);
  auto options = small();
  options.held_out = 0.02;  // with this seed both of no workload
  const auto model = make_treegru(options);
  ASSERT_TRUE(model->update(rows));
  const auto before = scores_of(*model, fresh);
  EXPECT_GT(pairwise_accuracy(before, fresh.seconds), 0.75);
  ASSERT_TRUE(model->update(rows));
  EXPECT_NE(scores_of(*model, fresh), before) << "it goes on learning";
}

TEST_F(Trained, AnUpdateThatHardlyStepsKeepsTheScores) {
  const Rows rows = without_failures(tree_rows(600, 1, 18)),
             fewer = without_failures(tree_rows(300, 1, 18));
  auto options = small();
  options.update_rate = 1e-9;
  const auto model = make_treegru(options);
  ASSERT_TRUE(model->update(fewer));
  const auto before = scores_of(*model, rows);
  ASSERT_TRUE(model->update(rows));
  const auto after = scores_of(*model, rows);
  EXPECT_NE(after, before) << "inputs are brought to the spread of the new rows";
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-3);
}

// The held-out rows have times that follow from nothing: training on them would fit them, and
// stopping by them ends soon.
TEST_F(Trained, StopsByRowsItDoesNotTrainOn) {
  Rows noise = tree_rows(400, 1, 6, 4);
  Rng rng(7);
  for (double& seconds : noise.seconds) seconds = 1e-3 * std::exp(rng.normal());
  const auto fit = [&](double held_out) {
    auto options = small();
    options.held_out = held_out;
    options.passes = 200;
    const auto model = make_treegru(options);
    EXPECT_TRUE(model->train(noise));
    return pairwise_accuracy(scores_of(*model, noise), noise.seconds);
  };
  const double stopped = fit(0.25), to_the_end = fit(0);
  EXPECT_GT(to_the_end, 0.8) << "it can learn this by heart";
  EXPECT_LT(stopped, to_the_end - 0.1);
}

TEST_F(Trained, SavedModelPredictsTheSame) {
  const Rows rows = tree_rows(120, 1, 8);
  for (const Variant variant : {Variant::kContext, Variant::kVanilla}) {
    const auto options = small(Objective::kRank, variant);
    const auto model = make_treegru(options), again = make_treegru(options);
    ASSERT_TRUE(model->train(rows));
    const std::string bytes = *model->save();
    ASSERT_TRUE(again->load(bytes));
    EXPECT_EQ(scores_of(*model, rows), scores_of(*again, rows));
    EXPECT_EQ(*again->save(), bytes);
    const auto before = scores_of(*again, rows);
    EXPECT_EQ(again->load(bytes.substr(0, bytes.size() / 2)).error().kind, ErrorKind::kDataLoss);
    std::string damaged = bytes;
    damaged[damaged.size() / 2] ^= 1;
    EXPECT_NE(again->load(damaged).error().message.find("checksum"), std::string::npos);
    EXPECT_EQ(scores_of(*again, rows), before);
  }
  const auto model = make_treegru(small());
  ASSERT_TRUE(model->train(rows));
  EXPECT_EQ(make_treegru(small(Objective::kRegression))->load(*model->save()).error().message,
            "the saved cost model is of kind treegru-rank, not treegru-reg");
  EXPECT_EQ(make_treegru(small(Objective::kRank, Variant::kVanilla))
                ->load(*model->save())
                .error()
                .message,
            "the saved cost model is of kind treegru-rank, not treegru-vanilla-rank");
}

// The first batches of a run: few rows, all failed, all equal; and a program without loops among
// them.
TEST_F(Trained, LearnsFromVeryLittle) {
  const auto short_course = [](Objective objective) {
    auto options = small(objective);
    options.steps = 20;
    return options;
  };
  for (const int count : {1, 2, 3, 16}) {
    const auto model = make_treegru(short_course(Objective::kRank));
    Rows rows = tree_rows(count, 1, 9);
    rows.features[feature::kNodeParent] = feature::kNoNode;
    ASSERT_TRUE(model->train(rows)) << count;
    EXPECT_TRUE(model->trained());
    for (const float score : scores_of(*model, rows)) EXPECT_TRUE(std::isfinite(score));
  }
  for (const double seconds : {1.0, std::numeric_limits<double>::infinity()})
    for (const Objective objective : {Objective::kRank, Objective::kRegression}) {
      Rows rows = tree_rows(40, 1, 10);
      rows.seconds.assign(rows.seconds.size(), seconds);
      const auto model = make_treegru(short_course(objective));
      ASSERT_TRUE(model->train(rows));
      for (const float score : scores_of(*model, rows)) EXPECT_TRUE(std::isfinite(score));
    }
}

TEST_F(Trained, AddsToAGlobalModel) {
  const auto options = small();
  std::shared_ptr<CostModel> global = make_treegru(options);
  ASSERT_TRUE(global->train(without_failures(tree_rows(800, 1, 11))));
  auto over = options;
  over.global = global;
  const auto with = make_treegru(over), alone = make_treegru(options);
  const Rows few = without_failures(tree_rows(24, 1, 12)),
             fresh = without_failures(tree_rows(400, 1, 13));
  EXPECT_TRUE(with->trained());
  EXPECT_EQ(scores_of(*with, fresh), scores_of(*global, fresh));
  ASSERT_TRUE(with->train(few) && alone->train(few));
  EXPECT_GT(pairwise_accuracy(scores_of(*with, fresh), fresh.seconds),
            pairwise_accuracy(scores_of(*alone, fresh), fresh.seconds) + 0.05);
  EXPECT_FALSE(with->save());
}

TEST_F(Trained, AGlobalModelOfTreesIsAFile) {
  const Rows rows = tree_rows(100, 2, 14);
  const TargetClass wide{CpuClass{Isa::kX86, 512}};
  GlobalModel global{Objective::kRank, "tree", wide, {"w1", "w2"}, 100, nullptr};
  std::shared_ptr<CostModel> model = make_global({.features = "tree"});
  ASSERT_TRUE(model->train(rows));
  global.model = model;
  const auto again = load_global(*save(global));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(scores_of(*again->model, rows), scores_of(*model, rows));
  EXPECT_EQ(check_fit(*again, "context", Objective::kRank, wide).error().message,
            "the global model was trained on tree features, not context; choose a treegru model");
}

TEST_F(Trained, PredictsFromManyThreadsWhileRetrained) {
  const Rows rows = tree_rows(100, 1, 15);
  auto options = small();
  options.steps = 20;
  const auto model = make_treegru(options);
  ASSERT_TRUE(model->train(rows));
  const auto expected = scores_of(*model, rows);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      std::vector<float> scores(rows.seconds.size());
      for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(model->predict(rows.features, rows.width, scores));
        ASSERT_EQ(scores, expected);
      }
    });
  ASSERT_TRUE(model->train(rows));
}

}  // namespace
}  // namespace lathe::model
