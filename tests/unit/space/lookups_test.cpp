// Spaces of expressions whose indices are computed: every configuration computes them.
#include <fmt/format.h>
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

// Only some lanes are reached of what such a read puts into its reader.
TEST(Lookups, InPaddedReadsStayWhereTheyAre) {
  for (const char* const use : {"exp(E[i,j-1 else 2] + E[i,j])", "E[i,j+1 else 2] * E[i,j]",
                                "E[i,2*j-3 else 0]", "E[i-1,j else 1] + E[i,1-j else 0]"})
    for (const int width : {2, 3, 7, 17}) {
      const std::string text = fmt::format(
          "A: f32[13,{0}]; I: i32[13] in 0..3; v: f32[{1}]\nE[i,j:{1}] = A[i,I[i]+j] * 2\n"
          "F[i:13,j:{1}] = {2}; Y[i] = sum(j) F[i,j] * v[j]",
          width + 3, width, use);
      SCOPED_TRACE(text);
      for (const Target& target : {test::avx512(1), test::sse(1)})
        check_space(parsed(text), target, Flavour::kDefault, 4, static_cast<std::uint64_t>(width));
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
