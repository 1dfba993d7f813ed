// The models that come with Lathe: of this version, small, and for processors not trained on what
// they are judged on.
#include "api/shipped_models.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "api/learning.h"
#include "api/targets.h"
#include "api/workload.h"
#include "compiler/te/parse.h"
#include "compiler/te/workload.h"
#include "tuner/feature/feature.h"
#include "tuner/learn/history.h"
#include "tuner/model/global_model.h"

namespace lathe::api {
namespace {

constexpr model::CpuClass kProcessors[] = {{Isa::kX86, 512}, {Isa::kX86, 256}};

std::string shape_named(const std::string& workload) {
  WorkloadRequest request;
  request.text = workload;
  return learn::shape_of(te::workload_key(make_workload(request)->definition));
}

TEST(ShippedModels, FitTheirTargets) {
  for (const model::CpuClass& cpus : kProcessors) {
    const model::TargetClass target_class{cpus};
    const auto bytes = shipped_model(target_class);
    EXPECT_LT(bytes.size(), 5'000'000U) << cpus.text();
    const auto global = model::load_global(bytes);
    ASSERT_TRUE(global) << cpus.text() << ": " << global.error().text();
    EXPECT_TRUE(model::check_fit(*global, "context", model::Objective::kRank, target_class));
    EXPECT_GT(global->records, 5000);
    EXPECT_GT(global->workloads.size(), 70U);
  }
  EXPECT_TRUE(shipped_model({model::CpuClass{Isa::kAArch64, 128}}).empty());
}

TEST(ShippedModels, OfCardsKnowWhatFeaturesTellToday) {
  const Target card = *make_target("cuda:H200", 0);
  const auto global = model::load_global(shipped_model(model::class_of(card)));
  ASSERT_TRUE(global) << global.error().text();
  EXPECT_TRUE(model::check_fit(*global, "context", model::Objective::kRank, model::class_of(card)));
  WorkloadRequest request;
  request.text = "C5";  // of which there was no time
  const te::Workload workload = te::canonical(make_workload(request)->definition);
  const auto space = space::derive_space(workload, card, space::Flavour::kDefault);
  ASSERT_TRUE(space) << space.error().text();
  const feature::Extractor extractor(*feature::features_for("context", card), **space);
  const std::vector<space::Config> configs = {(*space)->default_config()};
  std::vector<float> row(static_cast<std::size_t>(extractor.width())), score(1);
  extractor.rows(configs, row, 1);
  const Status predicted = global->model->predict(row, extractor.width(), score);
  EXPECT_TRUE(predicted) << predicted.error().text();
  EXPECT_TRUE(shipped_model({model::CudaClass{75}}).empty());
}

TEST(ShippedModels, AreForWorkloadsLikeThoseThatTaughtThem) {
  const Target card = *make_target("cuda:H200", 0);
  const auto records = [&](const std::string& text) {
    const auto key = te::workload_key(*te::parse_workload(text));
    tune::Options options;
    const auto origin = begin_from_others("", key, card, nullptr, options);
    EXPECT_TRUE(origin) << origin.error().text();
    EXPECT_EQ(options.model.global != nullptr, origin->records > 0);
    return origin->records;
  };
  EXPECT_GT(records("A: f32[37,53]; B: f32[53,14]; C[i,j] = sum(k) A[i,k] * B[k,j]"), 5000);
  EXPECT_EQ(records("X: f32[37,53]; Y[i,j] = max(X[i,j], 0)"), 0);
  EXPECT_EQ(records("X: f32[37,53]; S[i] = sum(j) X[i,j]"), 0);
}

TEST(ShippedModels, HaveNotSeenWhatTheyAreJudgedOn) {
  std::vector<std::string> judged = {shape_named("matmul-1024")};
  for (int row = 1; row <= 12; ++row) judged.push_back(shape_named("C" + std::to_string(row)));
  for (const model::CpuClass& cpus : kProcessors) {
    const auto global = model::load_global(shipped_model({cpus}));
    ASSERT_TRUE(global);
    for (const std::string& workload : global->workloads)
      EXPECT_EQ(std::ranges::find(judged, learn::shape_of(workload)), judged.end()) << workload;
  }
}

}  // namespace
}  // namespace lathe::api
