// Spaces of expressions whose indices are computed: every configuration computes them.
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/lookup_workload.h"
#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

TEST(Lookups, RandomConfigurationsComputeTheProgram) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 1),
                      rounds = asked("LATHE_RANDOM_ROUNDS", 40);
  const int configurations = static_cast<int>(asked("LATHE_RANDOM_CONFIGS", 5));
  for (std::uint64_t seed = first; seed < first + rounds && !::testing::Test::HasFailure();
       ++seed) {
    Rng rng(seed);
    const std::string text = lookup_text(rng, seed % 4 == 0 ? "i8" : "f32");
    SCOPED_TRACE(text);
    te::Workload workload = parsed(text);
    workload.contract.free_layout = seed % 5 == 0;
    const Target target = seed % 2 == 0 ? test::avx512(seed % 3 == 0 ? 4 : 1) : test::sse(2);
    check_space(workload, target, Flavour::kDefault, configurations, seed);
  }
}

TEST(Lookups, RowsAreCopiedAsVectors) {
  const auto space = derive_space(parsed("T: f32[100,64]; I: i32[50] in 0..99; Y[n,j] = T[I[n],j]"),
                                  test::avx512(4), Flavour::kDefault);
  ASSERT_TRUE(space.has_value());
  bool vectors = false, shared = false;
  for (const schedule::Step& step : (*space)->trace((*space)->default_config()))
    if (const auto* annotate = std::get_if<schedule::Annotate>(&step)) {
      vectors |= annotate->kind == ir::LoopKind::kVectorized && annotate->loop.starts_with("Y.j");
      shared |= annotate->kind == ir::LoopKind::kParallel;
    }
  EXPECT_TRUE(vectors);
  EXPECT_TRUE(shared);
}

}  // namespace
}  // namespace lathe::space
