#include "tuner/feature/card_plan.h"

#include <cmath>

#include <gtest/gtest.h>

#include "compiler/codegen/nvptx/cards.h"
#include "compiler/te/parse.h"
#include "tuner/feature/feature.h"
#include "tuner/space/space.h"

namespace lathe::feature {
namespace {

Target h200() { return Target{*codegen::known_card("H200")}; }

// A configuration of a space, of which only some knobs are given.
struct Program {
  std::shared_ptr<const space::Space> space;
  space::Config config;

  Program(const char* text, const std::map<std::string, Json>& knobs) {
    const auto workload = te::parse_workload(text);
    EXPECT_TRUE(workload) << workload.error().text();
    auto derived = space::derive_space(*workload, h200(), space::Flavour::kWide);
    EXPECT_TRUE(derived) << derived.error().text();
    space = std::move(*derived);
    Json all = space->to_json(space->default_config());
    for (const auto& [knob, value] : knobs) all[knob] = value;
    const auto found = space->from_json(all);
    EXPECT_TRUE(found) << found.error().text();
    config = *found;
  }

  std::vector<Kernel> kernels() const {
    const space::Sketch& sketch = space->sketch(config);
    std::vector<std::int64_t> knobs, sizes;
    space->knob_values(config, knobs);
    sketch.nest.sizes.evaluate(knobs, sizes);
    return CardPlan(sketch.nest, h200().as_cuda()).kernels(sizes);
  }
};

constexpr const char* kProduct =
    "A: f32[256,512]; B: f32[512,384]; output C: f32[256,384]; C[m,n] = sum(k:512) A[m,k] * B[k,n]";

std::map<std::string, Json> tile() {
  return {{"item.v", 1},
          {"item.p0", 8},
          {"threads.v", 16},
          {"threads.p0", 8},
          {"chunk", 16},
          {"unroll.k", 1},
          {"sum", "by a thread"},
          {"grid", "whole sums"},
          {"stages", "2"},
          {"stage.weights", "shared"},
          {"stage.input", "shared"}};
}

TEST(CardPlan, CountsWhatABlockDoes) {
  const auto kernels = Program(kProduct, tile()).kernels();
  ASSERT_EQ(kernels.size(), 1U);
  const space::CardWork& work = kernels[0].work;
  EXPECT_EQ(work.threads, 16 * 8);
  EXPECT_EQ(work.blocks, (384 / (4 * 16)) * (256 / (8 * 8)));
  EXPECT_EQ(kernels[0].multiplies - 8 * 4, 512 * 8 * 4) << "the last are stores";
  EXPECT_EQ(work.chunks, 512 / 16);
  EXPECT_EQ(work.stages, 2);
  const double chunk_bytes = 4.0 * 16 * (8 * 8 + 4 * 16);
  EXPECT_GE(work.shared, 2 * chunk_bytes) << "rows may have gaps";
  EXPECT_LE(work.shared, 2 * chunk_bytes * 1.3);
  EXPECT_GE(work.staged, 32 * chunk_bytes);
  EXPECT_LE(work.staged, 32 * chunk_bytes * 1.3);
  EXPECT_GE(work.registers, 8 * 4);
  EXPECT_EQ(work.last, 16 * 8 * 8 * 4 / 32.0);
}

TEST(CardPlan, GroupsShareTheSumAndASecondKernelAddsUp) {
  auto knobs = tile();
  knobs["threads.p0"] = 4;
  knobs["sum"] = "by groups", knobs["sum.groups"] = 4;
  knobs["grid"] = "parts of sums", knobs["grid.parts"] = 2;
  const auto kernels = Program(kProduct, knobs).kernels();
  ASSERT_EQ(kernels.size(), 2U);
  const space::CardWork& work = kernels[0].work;
  EXPECT_EQ(work.threads, 16 * 4 * 4);
  EXPECT_EQ(work.blocks, 2 * (384 / (4 * 16)) * (256 / (8 * 4)));
  EXPECT_EQ(work.chunks, 512 / (16 * 4 * 2));
  EXPECT_EQ(work.last, 2 * (16 * 4 * 4) * 8 * 4 / 32.0);
}

// A sum that all 132 multiprocessors work on is faster than one on a few of them.
TEST(CardPlan, LikesAFullCard) {
  const auto cycles = [](const std::map<std::string, Json>& knobs) {
    const Program program(kProduct, knobs);
    double sum = 0;
    for (const Kernel& kernel : program.kernels())
      sum += space::cycles_of(kernel.work, h200().as_cuda());
    return sum;
  };
  auto few = tile();
  auto many = tile();
  few["item.p0"] = 16, few["item.v"] = 2;
  many["item.p0"] = 4;
  EXPECT_LT(cycles(many), cycles(few));
}

TEST(CardPlan, RowsEndWithItsColumns) {
  const Program program(kProduct, tile());
  const auto features = features_for("context", h200());
  ASSERT_TRUE(features) << features.error().text();
  const auto names = feature::names(*features, *program.space);
  EXPECT_EQ(names.back(), "card.all_cycles");
  std::vector<float> row(static_cast<std::size_t>(width(*features, *program.space)), NAN);
  ASSERT_EQ(names.size(), row.size());
  const std::vector<space::Config> configs{program.config};
  extract(*features, *program.space, configs, row, 1);
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_TRUE(std::isfinite(row[i])) << names[i];
  EXPECT_GT(row.back(), std::log2(space::kLaunchCycles));
}

TEST(CardPlan, OtherFeaturesAreThoseOfAnyProgram) {
  const Program program(kProduct, tile());
  for (const char* kind : {"relation", "tree", "blocks"}) {
    const auto card = features_for(kind, h200()), cpu = features_for(kind, Target{});
    ASSERT_TRUE(card && cpu);
    EXPECT_EQ(width(*card, *program.space), width(*cpu, *program.space));
  }
}

}  // namespace
}  // namespace lathe::feature
