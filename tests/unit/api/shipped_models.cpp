// The models that come with Lathe: of this version, small, and not trained on what they are judged
// on.
#include "api/shipped_models.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "api/workload.h"
#include "compiler/te/workload.h"
#include "tuner/learn/history.h"
#include "tuner/model/global_model.h"

namespace lathe::api {
namespace {

constexpr model::CpuClass kClasses[] = {{Isa::kX86, 512}, {Isa::kX86, 256}};

std::string shape_named(const std::string& workload) {
  WorkloadRequest request;
  request.text = workload;
  return learn::shape_of(te::workload_key(make_workload(request)->definition));
}

TEST(ShippedModels, FitTheirTargets) {
  for (const model::CpuClass& cpus : kClasses) {
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

TEST(ShippedModels, HaveNotSeenWhatTheyAreJudgedOn) {
  std::vector<std::string> judged = {shape_named("matmul-1024")};
  for (int row = 1; row <= 12; ++row) judged.push_back(shape_named("C" + std::to_string(row)));
  for (const model::CpuClass& cpus : kClasses) {
    const auto global = model::load_global(shipped_model({cpus}));
    ASSERT_TRUE(global);
    for (const std::string& workload : global->workloads)
      EXPECT_EQ(std::ranges::find(judged, learn::shape_of(workload)), judged.end()) << workload;
  }
}

}  // namespace
}  // namespace lathe::api
