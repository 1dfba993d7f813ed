// The analytic model must rank as the measurements of the design's kernels did, and need nothing
// measured.
#include "tuner/model/analytic.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "unit/feature/hand_nest.h"

namespace lathe::model {
namespace {

Core wide_core(int threads = 1) {
  Core m;
  m.vector_bytes = 64;
  m.registers = 32;
  m.threads = threads;
  m.l1_bytes = 48 * 1024;
  return m;
}

// The worked example with its accumulators in registers.
ir::Nest tiled_matmul() {
  ir::Nest nest = feature::worked_example();
  ir::Buffer accumulators = nest.buffers[2];
  accumulators.name = "C.acc";
  accumulators.scope = ir::Scope::kRegister;
  accumulators.cache_of = 2;
  accumulators.at = nest.find_loop("io");
  nest.buffers.push_back(accumulators);
  nest.blocks[0].writes = 3;
  return nest;
}

double cycles(const ir::Nest& nest, std::vector<std::int64_t> knobs,
              const Core& core = wide_core()) {
  return AnalyticModel(nest, core).cycles(ir::SizedNest(nest, knobs).values);
}

// Knobs: p, v, kc, u.
TEST(Analytic, NearThePeakWhereAKernelIs) {
  const double peak = 1024.0 * 1024 * 1024 / 16 / 2;
  const double tile = cycles(tiled_matmul(), {14, 2, 256, 4});
  EXPECT_GT(tile, peak);
  EXPECT_LT(tile, 1.4 * peak);
}

// What bench_search fits is the machine's, and costs cycles.
TEST(Analytic, EveryConstantCounts) {
  const double usual = cycles(tiled_matmul(), {14, 2, 256, 4});
  for (double Core::* member : {&Core::entry_cycles, &Core::exit_cycles, &Core::hidden_share}) {
    Core core = wide_core();
    core.*member = 0;
    EXPECT_LT(cycles(tiled_matmul(), {14, 2, 256, 4}, core), usual);
  }
}

TEST(Analytic, SpillsAreSlow) {
  const double good = cycles(tiled_matmul(), {14, 2, 256, 4});
  EXPECT_GT(cycles(tiled_matmul(), {7, 5, 256, 4}), 1.1 * good);
  EXPECT_GT(cycles(tiled_matmul(), {28, 2, 256, 4}), 1.3 * good);
}

TEST(Analytic, OneVectorWideIsSlower) {
  EXPECT_GT(cycles(tiled_matmul(), {28, 1, 256, 4}),
            1.03 * cycles(tiled_matmul(), {14, 2, 256, 4}));
}

TEST(Analytic, FewAccumulatorsWaitForEachOther) {
  EXPECT_GT(cycles(tiled_matmul(), {2, 1, 256, 4}), 2 * cycles(tiled_matmul(), {14, 2, 256, 4}));
}

TEST(Analytic, WithoutVectorsNearlyLanesTimesSlower) {
  ir::Nest scalar = tiled_matmul();
  scalar.loops[scalar.find_loop("jl")].kind = ir::LoopKind::kSerial;
  EXPECT_GT(cycles(scalar, {14, 2, 256, 4}), 8 * cycles(tiled_matmul(), {14, 2, 256, 4}));
}

TEST(Analytic, LanesThatAreNotNeighbours) {
  ir::Nest scattered = tiled_matmul();
  const auto one = scattered.sizes.constant(1);
  scattered.buffers[1].layout = {{1, one}, {0, one}};
  EXPECT_GT(cycles(scattered, {14, 2, 256, 4}), 2 * cycles(tiled_matmul(), {14, 2, 256, 4}));
}

TEST(Analytic, ThreadsHelpAsFarAsTasksGo) {
  ir::Nest nest = tiled_matmul();
  const double alone = cycles(nest, {14, 2, 1024, 4});
  nest.loops[nest.find_loop("jo")].kind = ir::LoopKind::kParallel;  // 32 tasks
  EXPECT_NEAR(cycles(nest, {14, 2, 1024, 4}, wide_core(2)), alone / 2, 0.01 * alone);
  EXPECT_GT(cycles(nest, {14, 2, 1024, 4}, wide_core(31)), alone / 17);  // two rounds
  EXPECT_NEAR(cycles(nest, {14, 2, 1024, 4}), alone, 1e-6 * alone);
}

// Stores past the caches save reading lines where no cache holds the program's tensors; else what
// is stored has to come back from memory.
TEST(Analytic, StreamingStoresAreForWhatNoCacheHolds) {
  for (const std::int64_t n : {std::int64_t{1} << 16, std::int64_t{1} << 26}) {
    const auto workload = te::parse_workload(fmt::format("A: f32[{0}]; B[i] = A[i] + 1.0", n));
    ir::Nest nest = te::naive_nest(*workload);
    const double cached = cycles(nest, {});
    nest.buffers[nest.find_buffer("B")].streaming = true;
    if (n > 1 << 20) EXPECT_LT(cycles(nest, {}), cached);
    else EXPECT_GT(cycles(nest, {}), cached);
  }
}

TEST(Analytic, TilingBeatsTheNaiveNest) {
  const auto workload =
      te::parse_workload("A: f32[1024,1024]; B: f32[1024,1024]; C[i,j] = sum(k) A[k,i] * B[k,j]");
  const ir::Nest naive = te::naive_nest(*workload);
  EXPECT_GT(cycles(naive, {}), 20 * cycles(tiled_matmul(), {14, 2, 256, 4}));
}

TEST(Analytic, MachineOfATarget) {
  Target target;
  target.as_cpu().vector_bits = 128;
  target.as_cpu().vector_registers = 16;
  target.set_threads(3);
  const Core m = core_of(target, Fingerprint{CpuFingerprint{.l1d_bytes = 1000}});
  EXPECT_EQ(m.vector_bytes, 16);
  EXPECT_EQ(m.registers, 16);
  EXPECT_EQ(m.threads, 3);
  EXPECT_EQ(m.l1_bytes, 1000);
  EXPECT_EQ(m.l2_bytes, Core{}.l2_bytes);
}

// Awkward shapes: every score is a number.
TEST(Analytic, ScoresADerivedSpace) {
  for (const char* text : {"A: f32[61,37]; B: f32[61,53]; C[i,j] = sum(k) A[k,i] * B[k,j]",
                           "X: f32[1,8,14,14]; const W: f32[32,8,3,3];"
                           "Y[n,o,y:14,x:14] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
                           "X: f32[7,13]; Y[i,j] = max(X[i,j], 0)", "X: f32[1]; Y[i] = X[i] + 1"}) {
    Target target;
    target.as_cpu().mcpu = "x86-64-v4";
    target.as_cpu().vector_bits = 512;
    target.as_cpu().vector_registers = 32;
    const auto workload = te::parse_workload(text);
    ASSERT_TRUE(workload);
    const auto space = space::derive_space(*workload, target, space::Flavour::kWide);
    ASSERT_TRUE(space) << space.error().text();
    Rng rng(1);
    std::vector<space::Config> configs;
    for (int i = 0; i < 200; ++i) configs.push_back((*space)->random(rng));
    std::vector<double> scores(configs.size(), NAN);
    AnalyticScorer scorer(**space, core_of(target, {}));
    EXPECT_TRUE(scorer.ready());
    scorer.score(configs, scores);
    for (const double score : scores) EXPECT_TRUE(std::isfinite(score));
  }
}

}  // namespace
}  // namespace lathe::model
