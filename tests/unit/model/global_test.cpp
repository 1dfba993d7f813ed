// f = f_global + f_local, and the file of a global model.
#include <gtest/gtest.h>

#include "tuner/model/container.h"
#include "tuner/model/global_model.h"
#include "unit/model/synthetic.h"

namespace lathe::model {
namespace {

std::shared_ptr<const CostModel> global_of(Objective objective, std::uint64_t seed) {
  std::shared_ptr<CostModel> global = make_xgboost({.objective = objective});
  EXPECT_TRUE(global->train(synthetic_rows(1200, 3, seed)));
  return global;
}

GlobalModel a_global(Objective objective = Objective::kRank) {
  return {objective,    "context", {CpuClass{Isa::kX86, 512}},
          {"w1", "w2"}, 1200,      global_of(objective, 1)};
}

TEST(Transfer, TheGlobalModelPredictsUntilThereIsALocalOne) {
  const Rows fresh = synthetic_rows(300, 1, 2);
  const auto global = global_of(Objective::kRank, 1);
  const auto model = make_xgboost({.global = global});
  EXPECT_TRUE(model->trained());
  EXPECT_EQ(scores_of(*model, fresh), scores_of(*global, fresh));
  const auto ensemble =
      make_bootstrap({.member = {.objective = Objective::kRegression, .global = global}});
  EXPECT_TRUE(ensemble->trained());
  EXPECT_EQ(scores_of(*ensemble, fresh), scores_of(*global, fresh));
}

// Few rows of its own: with what others taught, a model is far ahead of one without.
TEST(Transfer, FewRowsSufficeOnTopOfAGlobalModel) {
  const Rows few = synthetic_rows(24, 1, 3), fresh = synthetic_rows(500, 1, 4);
  for (const Objective objective : {Objective::kRank, Objective::kRegression}) {
    const auto alone = make_xgboost({.objective = objective});
    const auto with = make_xgboost({.objective = objective, .global = global_of(objective, 1)});
    ASSERT_TRUE(alone->train(few) && with->train(few));
    EXPECT_GT(pairwise_accuracy(scores_of(*with, fresh), fresh.seconds),
              pairwise_accuracy(scores_of(*alone, fresh), fresh.seconds) + 0.05);
  }
}

TEST(Transfer, TheLocalModelCorrectsAWrongGlobalOne) {
  Rows backwards = synthetic_rows(600, 1, 5);
  for (double& seconds : backwards.seconds) seconds = 1 / std::min(1 + seconds, 1e6);
  std::shared_ptr<CostModel> wrong = make_xgboost({});
  ASSERT_TRUE(wrong->train(backwards));
  const Rows rows = synthetic_rows(600, 1, 6), fresh = synthetic_rows(400, 1, 7);
  const auto model = make_xgboost({.global = wrong});
  EXPECT_LT(pairwise_accuracy(scores_of(*model, fresh), fresh.seconds), 0.4);
  ASSERT_TRUE(model->train(rows));
  EXPECT_GT(pairwise_accuracy(scores_of(*model, fresh), fresh.seconds), 0.8);
}

// What it is wrong about is no longer in the way where there are rows enough; without rows it
// counts fully.
TEST(Transfer, AFadingGlobalModelGivesWayToOwnRows) {
  Rows backwards = synthetic_rows(600, 1, 5);
  for (double& seconds : backwards.seconds) seconds = 1 / std::min(1 + seconds, 1e6);
  std::shared_ptr<CostModel> wrong = make_xgboost({});
  ASSERT_TRUE(wrong->train(backwards));
  const MakeOver over = [](std::shared_ptr<const CostModel> global) {
    return make_xgboost({.global = std::move(global)});
  };
  const auto fading = make_fading(wrong, 16, over), lasting = over(wrong);
  const Rows rows = synthetic_rows(200, 1, 6), fresh = synthetic_rows(400, 1, 7);
  EXPECT_TRUE(fading->trained());
  EXPECT_EQ(scores_of(*fading, fresh), scores_of(*wrong, fresh));
  ASSERT_TRUE(fading->train(rows) && lasting->train(rows));
  EXPECT_GT(pairwise_accuracy(scores_of(*fading, fresh), fresh.seconds),
            pairwise_accuracy(scores_of(*lasting, fresh), fresh.seconds) + 0.02);
  const auto before = scores_of(*fading, fresh);
  EXPECT_FALSE(fading->train({}));
  EXPECT_EQ(scores_of(*fading, fresh), before);
}

// Knows how it was asked to learn.
class Asked final : public CostModel {
 public:
  Asked(int& trainings, int& updates) : trainings_(trainings), updates_(updates) {}
  Status train(const Rows&) override {
    ++trainings_;
    return {};
  }
  Status update(const Rows&) override {
    ++updates_;
    return {};
  }
  bool trained() const override { return true; }
  Status predict(std::span<const float>, int, std::span<float>) const override { return {}; }
  Result<std::string> save() const override { return std::string(); }
  Status load(const std::string&) override { return {}; }

 private:
  int &trainings_, &updates_;
};

TEST(Transfer, WhatIsOverAFadingModelMayGoOn) {
  int trainings = 0, updates = 0;
  const auto fading = make_fading(global_of(Objective::kRank, 1), 16, [&](const auto&) {
    return std::make_unique<Asked>(trainings, updates);
  });
  ASSERT_TRUE(fading->train(synthetic_rows(20, 1, 6)) && fading->update(synthetic_rows(20, 1, 6)) &&
              fading->update(synthetic_rows(30, 1, 6)));
  EXPECT_EQ(trainings, 1);
  EXPECT_EQ(updates, 2);
}

TEST(Transfer, AGlobalModelOfManyTrialsDoesNotFade) {
  const auto global = global_of(Objective::kRank, 1);
  const MakeOver over = [](std::shared_ptr<const CostModel> beneath) {
    return make_xgboost({.global = std::move(beneath)});
  };
  const auto fading = make_fading(global, 1e12, over), lasting = over(global);
  const Rows rows = synthetic_rows(100, 1, 6);
  ASSERT_TRUE(fading->train(rows) && lasting->train(rows));
  EXPECT_EQ(scores_of(*fading, rows), scores_of(*lasting, rows));
}

TEST(Transfer, AllRowsFailedOrEqualLeaveTheGlobalOrder) {
  const auto global = global_of(Objective::kRank, 1);
  const Rows fresh = synthetic_rows(100, 1, 8);
  for (const double seconds : {1e-3, std::numeric_limits<double>::infinity()}) {
    Rows rows = synthetic_rows(16, 1, 9);
    rows.seconds.assign(16, seconds);
    const auto model = make_xgboost({.global = global});
    ASSERT_TRUE(model->train(rows));
    EXPECT_EQ(scores_of(*model, fresh), scores_of(*global, fresh));
  }
}

TEST(Transfer, RefusesWrongUse) {
  const auto model = make_xgboost({.global = global_of(Objective::kRank, 1)});
  EXPECT_EQ(model->save().error().message,
            "a cost model that adds to a global one is not saved: train it again");
  std::vector<float> scores(1), row(22, 0);
  EXPECT_EQ(model->predict(row, 22, scores).error().message,
            "the cost model was trained on rows of 11 features, not 22");
}

TEST(GlobalModel, IsWhatWasSaved) {
  const Rows fresh = synthetic_rows(100, 1, 10);
  for (const Objective objective : {Objective::kRank, Objective::kRegression}) {
    const GlobalModel global = a_global(objective);
    const auto again = load_global(save(global).value());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->objective, objective);
    EXPECT_EQ(again->features, "context");
    EXPECT_EQ(again->target_class, global.target_class);
    EXPECT_EQ(again->workloads, global.workloads);
    EXPECT_EQ(again->records, 1200);
    EXPECT_EQ(scores_of(*again->model, fresh), scores_of(*global.model, fresh));
  }
}

TEST(GlobalModel, RefusesWhatIsNone) {
  const std::string bytes = save(a_global()).value();
  EXPECT_EQ(load_global("dear aunt").error().message, "this is not a saved cost model");
  EXPECT_EQ(load_global("").error().message, "this is not a saved cost model");
  for (std::size_t size = 8; size < bytes.size(); size += 997)
    EXPECT_FALSE(load_global(bytes.substr(0, size))) << size;
  EXPECT_NE(load_global(bytes.substr(0, bytes.size() - 1)).error().message.find("cut short"),
            std::string::npos);
  std::string damaged = bytes;
  damaged[bytes.size() / 2] ^= 1;
  EXPECT_NE(load_global(damaged).error().message.find("damaged"), std::string::npos);
  EXPECT_EQ(load_global(a_global().model->save().value()).error().message,
            "the saved cost model is of kind xgb-rank, not global");
  EXPECT_FALSE(load_global(pack("global", "")));
  EXPECT_FALSE(load_global(pack("global", std::string("\xff\0\0\0\0\0\0\0x", 9))));
}

TEST(TargetClass, IsATextOnDisk) {
  for (const char* text : {"x86, 512-bit vectors", "aarch64, 128-bit vectors"}) {
    const auto read = parse_target_class(text);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->text(), text);
  }
  EXPECT_EQ(parse_target_class("x86, 256-bit vectors"), (TargetClass{CpuClass{Isa::kX86, 256}}));
  for (const char* text : {"", "x86", "x86, ", "x86, -1-bit vectors", "x86, 256-bit vectors ",
                           "riscv, 256-bit vectors", "x86, 99999999999-bit vectors"})
    EXPECT_EQ(parse_target_class(text).error().kind, ErrorKind::kDataLoss) << text;
}

TEST(GlobalModel, FitsOrSaysWhyNot) {
  const GlobalModel global = a_global();
  const TargetClass here{CpuClass{Isa::kX86, 512}}, there{CpuClass{Isa::kAArch64, 128}};
  EXPECT_TRUE(check_fit(global, "context", Objective::kRank, here));
  EXPECT_EQ(
      check_fit(global, "context", Objective::kRank, there).error().message,
      "the global model is for x86, 512-bit vectors, the target has aarch64, 128-bit vectors; "
      "train one on records of this target with lathe model train");
  EXPECT_EQ(
      check_fit(global, "relation", Objective::kRank, here).error().message,
      "the global model was trained on context features, not relation; give --features context");
  EXPECT_EQ(check_fit(global, "context", Objective::kRegression, here).error().message,
            "the global model has the rank objective and cannot be added to one of regression");
}

}  // namespace
}  // namespace lathe::model
