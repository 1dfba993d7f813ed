// Naive nests of random programs, lowered, against the evaluation of the expression.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/random_workload.h"
#include "support/targets.h"

namespace lathe {
namespace {

TEST(Expand, NaiveNestsOfRandomWorkloads) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .recurrences = 0.15});
    const ir::Nest nest = te::naive_nest(workload);
    const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512());
    ASSERT_TRUE(flat) << "seed " << seed << ": " << flat.error().text() << "\n"
                      << te::print_workload(workload);
    ASSERT_EQ(check_flat(workload, *flat, seed), "") << "seed " << seed << "\n"
                                                     << te::print_workload(workload);
  }
}

TEST(Expand, ZerosAreNotMultiplied) {
  const auto workload =
      te::parse_workload("X: f32[9]; W: f32[5]; Y[x:9] = sum(s) X[x+s-2 else 0] * W[s]");
  const ir::Nest nest = te::naive_nest(*workload);
  const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512());
  ASSERT_TRUE(flat);
  // Edges are cut out and no read is masked.
  EXPECT_EQ(flat::print(*flat).find("mask"), std::string::npos) << flat::print(*flat);
  EXPECT_EQ(flat::print(*flat).find("select"), std::string::npos) << flat::print(*flat);
}

TEST(Expand, RefusesGpuBindingsWithAReason) {
  const auto workload = te::parse_workload("A: f32[4]; B[i] = A[i]");
  ir::Nest nest = te::naive_nest(*workload);
  nest.loops[0].kind = ir::LoopKind::kBlockX;
  const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512());
  ASSERT_FALSE(flat);
  EXPECT_EQ(flat.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(flat.error().text(),
            "loop B.i is bound to blockIdx.x, which only GPU targets have; annotate it parallel");
}

}  // namespace
}  // namespace lathe
