// Reductions of which lanes are added up in the end: where they start, and what they go on from.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/targets.h"

namespace lathe {
namespace {

using schedule::Annotate, schedule::Cache, schedule::ReverseComputeAt, schedule::Rfactor,
    schedule::Split;

void expect_right(const std::string& text, const schedule::Trace& trace) {
  const auto workload = te::parse_workload(text);
  ASSERT_TRUE(workload) << workload.error().text();
  ir::Nest nest = te::naive_nest(*workload);
  const auto applied = schedule::apply(nest, trace, false);
  ASSERT_TRUE(applied) << applied.error().text();
  const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512(1));
  ASSERT_TRUE(flat) << flat.error().text();
  EXPECT_EQ(check_flat(*workload, *flat, 1), "") << flat::print(*flat);
}

Annotate vectorized(const std::string& loop) {
  return {.loop = loop, .kind = ir::LoopKind::kVectorized};
}

TEST(Lanes, AreTheWholeReduction) {
  for (const char* op : {"sum", "max"})
    expect_right(fmt::format("X: f32[3,16]; Y[i] = {}(k) X[i,k]", op), {vectorized("Y.k")});
}

TEST(Lanes, StartARegister) {
  expect_right("X: f32[3,16]; Y[i] = sum(k) X[i,k]",
               {Cache{"Y", "Y.acc", "Y.i", ir::Scope::kRegister, {}}, vectorized("Y.k")});
}

TEST(Lanes, GoOnFromOtherBlocks) {
  for (const int terms : {32, 30, 16, 7})
    expect_right(fmt::format("X: f32[3,{0}]; Y[i] = sum(k) X[i,k]", terms),
                 {Split{"Y.k", std::int64_t{16}, "ko", "kl", ir::Tail::kMask}, vectorized("kl")});
}

// The partial sums' lanes are no reduction of theirs: each starts by itself.
TEST(Lanes, ArePartialSumsOfAPartialSum) {
  for (const int terms : {30, 32, 64})
    expect_right(
        fmt::format("X: f32[3,{0}]; Y[i] = sum(k) X[i,k]", terms),
        {Split{"Y.k", std::int64_t{16}, "ko", "kl", ir::Tail::kPeel}, Rfactor{"Y", "ko", "P1"},
         Rfactor{"P1", "kl", "P2"}, ReverseComputeAt{"P1", "ko"}, vectorized("kl")});
}

}  // namespace
}  // namespace lathe
