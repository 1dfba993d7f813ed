// An intermediate result lies in the memory of an output where nothing is lost by it.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/random_trace.h"
#include "support/sanitized.h"
#include "support/targets.h"

namespace lathe {
namespace {

using schedule::Annotate, schedule::Split;

constexpr const char* kSoftmax =
    "X: f32[5,37]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])";

bool has_buffer(const flat::Program& program, std::string_view name) {
  return std::ranges::any_of(program.buffers, [&](const auto& b) { return b.name == name; });
}

// Whether E lies in Y once the steps are applied. The program must be right either way.
bool is_shared(const std::string& text, const schedule::Trace& trace = {}) {
  const auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text();
  ir::Nest nest = te::naive_nest(*workload);
  const auto applied = schedule::apply(nest, trace, false);
  EXPECT_TRUE(applied) << applied.error().text();
  const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512(2));
  EXPECT_TRUE(flat) << flat.error().text();
  if (!flat) return false;
  EXPECT_EQ(check_flat(*workload, *flat, 1), "") << flat::print(*flat);
  return !has_buffer(*flat, "E");
}

TEST(Shared, SoftmaxDividesWhereItsExponentialsAre) {
  EXPECT_TRUE(is_shared(kSoftmax));
  EXPECT_TRUE(is_shared(kSoftmax, {Split{"Y.j", std::int64_t{8}, "jo", "ji", ir::Tail::kPeel},
                                   Annotate{.loop = "ji", .kind = ir::LoopKind::kVectorized}}));
  EXPECT_TRUE(is_shared(kSoftmax, {Annotate{.loop = "Y.i", .kind = ir::LoopKind::kParallel}}));
}

TEST(Shared, ElementsThatAreComputedTwiceAreReadTwice) {
  EXPECT_FALSE(is_shared(kSoftmax, {Split{"Y.j", std::int64_t{8}, "jo", "ji", ir::Tail::kShift}}));
}

TEST(Shared, WhatIsReadElsewhereOrLaterStays) {
  for (const char* text : {
           "X: f32[7,7]; E[i,j] = exp(X[i,j]); Y[i,j] = E[j,i] + 1.0",
           "X: f32[7,7]; E[i,j] = exp(X[i,j]); Y[i,j] = E[i,j] + E[j,i]",
           "X: f32[7,7]; E[i,j] = exp(X[i,j]); Y[i,j] = E[i,j] - E[i,j+1 else 0]",
           "X: f32[7,7]; E[i,j] = exp(X[i,j]); Y[i,j] = sum(k) E[i,k] * E[k,j]",
           "X: f32[7,9]; E[i,j] = exp(X[i,j]); Y[i] = E[i,2] + (sum(j) E[i,j])",
           "X: f64[7,9]; E[i,j] = exp(X[i,j]); Y[i,j] = f32(E[i,j]) / f32(sum(k) E[i,k])",
           "const X: f32[7,9]; Z: f32[7,9]; E[i,j] = exp(X[i,j]); "
           "Y[i,j] = Z[i,j] * E[i,j] / (sum(k) E[i,k])",
       })
    EXPECT_FALSE(is_shared(text)) << text;
}

TEST(Shared, RandomSchedulesComputeTheSame) {
  const int rounds = test::kSanitized ? 20 : 150;
  int shared = 0, all = 0;
  for (const char* text : {
           kSoftmax,
           "X: f32[3,4,11]; E[n,i,j] = X[n,i,j] - (max(k) X[n,i,k]); "
           "Y[n,i,j] = exp(E[n,i,j]) / (sum(k) exp(E[n,i,k])) + E[n,i,j]",
           "X: f32[6,13]; E[i,j] = X[i,j] * X[i,j]; S[j] = sum(i) E[i,j]; Y[i,j] = E[i,j] / S[j]",
           "X: f32[13,17]; E[i,j] = X[i,j] + 1.0; M[i:11,j] = E[i,j] + E[i+2,j]; "
           "Y[i,j] = E[i,j] * (sum(k) M[k,j])",
       })
    for (int seed = 0; seed < rounds; ++seed) {
      const auto workload = te::parse_workload(text);
      ASSERT_TRUE(workload) << workload.error().text();
      Rng rng(static_cast<std::uint64_t>(seed));
      const RandomSchedule random = random_schedule(*workload, rng, {.open_sizes = true});
      const auto flat = lower::lower(ir::SizedNest(random.nest, random.knobs), test::avx512(2));
      if (!flat) continue;
      ++all;
      shared += has_buffer(*flat, "E") ? 0 : 1;
      ASSERT_EQ(check_flat(*workload, *flat, 1), "")
          << "seed " << seed << "\n"
          << describe(*workload, random) << flat::print(*flat);
    }
  EXPECT_GT(all, rounds);
  EXPECT_GT(shared, rounds / 2);
}

}  // namespace
}  // namespace lathe
