// Spaces of expressions whose indices are computed: every configuration computes them.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
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

// Whatever their sizes, rows that data chooses follow each other, also in pieces of several axes.
TEST(Lookups, RowsThatDataChoosesAreCopiedOneAfterTheOther) {
  for (const char* const text :
       {"T: f32[100,{0}]; I: i32[50] in 0..99; Y[n,j] = T[I[n],j]",
        "T: f32[9,5,{0}]; I: i64[7] in 0..8; Y[n,i,j] = T[I[n],i,j] * 2",
        "T: f32[30,{0}]; I: i32[21] in 0..40; Y[n,j] = T[I[n],j else 1]",
        "T: f32[30,{0}]; P: f32[21,{0}]; I: i32[21] in 0..29; Y[n,j] = T[I[n],j] + P[n,j]"})
    for (const int width : {2, 7, 13, 64, 100, 301})
      for (const Target& target : {test::avx2(1), test::avx512(2)}) {
        const std::string sized = fmt::format(fmt::runtime(text), width);
        SCOPED_TRACE(sized);
        const auto space = derive_space(parsed(sized), target, Flavour::kDefault);
        ASSERT_TRUE(space.has_value());
        const schedule::Trace trace = (*space)->trace((*space)->default_config());
        const auto reorder = std::ranges::find_if(trace, [](const schedule::Step& step) {
          return std::holds_alternative<schedule::Reorder>(step);
        });
        ASSERT_NE(reorder, trace.end());
        const auto& loops = std::get<schedule::Reorder>(*reorder).loops;
        const auto place = [&](const std::string& loop) {
          return std::ranges::find(loops, loop) - loops.begin();
        };
        if (width >= 100)  // several tiles along a row
          EXPECT_LT(place("Y.n.t"), place("Y.j.t")) << fmt::format("{}", fmt::join(loops, ", "));
        check_space(parsed(sized), target, Flavour::kDefault, 3, 1);
      }
}

}  // namespace
}  // namespace lathe::space
