// Naive nests of random programs, lowered, against the evaluation of the expression.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/random_program.h"
#include "support/targets.h"

namespace lathe {
namespace {

TEST(Expand, NaiveNestsOfRandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    const te::Program program = random_program(rng, {.dtypes = seed % 3 == 0});
    const ir::Nest nest = te::naive_nest(program);
    const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512());
    ASSERT_TRUE(flat) << "seed " << seed << ": " << flat.error().text() << "\n"
                      << te::print_program(program);
    ASSERT_EQ(check_flat(program, *flat, seed), "") << "seed " << seed << "\n"
                                                    << te::print_program(program);
  }
}

TEST(Expand, ZerosAreNotMultiplied) {
  const auto program =
      te::parse_program("X: f32[9]; W: f32[5]; Y[x:9] = sum(s) X[x+s-2 else 0] * W[s]");
  const ir::Nest nest = te::naive_nest(*program);
  const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512());
  ASSERT_TRUE(flat);
  // Borders are cut out and no read is masked.
  EXPECT_EQ(flat::print(*flat).find("mask"), std::string::npos) << flat::print(*flat);
  EXPECT_EQ(flat::print(*flat).find("select"), std::string::npos) << flat::print(*flat);
}

TEST(Expand, RefusesGpuBindingsWithAReason) {
  const auto program = te::parse_program("A: f32[4]; B[i] = A[i]");
  ir::Nest nest = te::naive_nest(*program);
  nest.loops[0].kind = ir::LoopKind::kBlockX;
  const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512());
  ASSERT_FALSE(flat);
  EXPECT_EQ(flat.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(flat.error().text(),
            "loop B.i is bound to blockIdx.x, which only GPU targets have; annotate it parallel");
}

}  // namespace
}  // namespace lathe
