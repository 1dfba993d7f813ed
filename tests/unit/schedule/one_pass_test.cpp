// A map in the loop of a reduction over what it makes, while others read the map later.
#include <gtest/gtest.h>

#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

constexpr std::string_view kSoftmax =
    "X: f32[5,23]\nM[i] = max(j) X[i,j]\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = sum(j) E[i,j]\n"
    "Y[i,j] = E[i,j] / S[i]";

// The loop around E, and the one that it lives in.
std::string place(std::string_view text, const Trace& trace) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, trace);
  expect_same(program(text), nest);
  const auto name = [&](ir::LoopId loop) {
    return loop == ir::kRoot ? std::string("-") : nest.loops[loop].name;
  };
  const auto around = nest.loops_around(nest.find_block("E"));
  return name(around.size() < 3 ? ir::kRoot : around[around.size() - 3]) + " " +
         name(nest.buffers[nest.find_buffer("E")].at);
}

TEST(OnePass, OfAMapAndAReduction) {
  EXPECT_EQ(place(kSoftmax, {ComputeAt{"E", "S.i"}}), "S.i -");
  EXPECT_EQ(place(kSoftmax, {ComputeAt{"E", "S.j"}}), "S.j -");
  for (const std::int64_t factor : {1, 2, 4, 8, 23, 40}) {
    const Split split{"S.j", factor, "jo", "ji", ir::Tail::kPeel};
    EXPECT_EQ(place(kSoftmax, {split, ComputeAt{"E", "jo"}}), "jo -") << factor;
    EXPECT_EQ(place(kSoftmax, {split, Reorder{{"jo", "S.i"}}, ComputeAt{"E", "jo"}}), "jo -");
    EXPECT_EQ(place(kSoftmax, {split, Rfactor{"S", "ji", "S.lanes"}, ComputeAt{"E", "jo"}}),
              "jo -");
    EXPECT_EQ(place(kSoftmax, {Split{"S.i", 2, "io", "ii", ir::Tail::kPeel}, split,
                               Rfactor{"S", "ji", "S.lanes"}, Reorder{{"io", "jo", "ii"}},
                               ComputeAt{"E", "jo"},
                               Annotate{.loop = "io", .kind = ir::LoopKind::kParallel}}),
              "jo -");
  }
}

TEST(OnePass, LivesForARowWhereRowsAreJoined) {
  EXPECT_EQ(place(kSoftmax, {ComputeAt{"E", "S.j"}, Join{{"M.i", "S.i", "Y.i"}}}), "S.j M.i");
}

TEST(OnePass, OfColumns) {
  EXPECT_EQ(place("X: f32[23,5]\nM[j] = max(i) X[i,j]\nE[i,j] = exp(X[i,j] - M[j])\n"
                  "S[j] = sum(i) E[i,j]\nY[i,j] = E[i,j] / S[j]",
                  {ComputeAt{"E", "S.i"}}),
            "S.i -");
}

TEST(OnePass, ComesBeforeOthersThatRead) {
  EXPECT_EQ(place("X: f32[5,23]; V: f32[23,4]\nE[i,j] = exp(X[i,j])\n"
                  "P[i,d] = sum(j) E[i,j] * V[j,d]\nS[i] = sum(j) E[i,j]\nY[i,d] = P[i,d] / S[i]",
                  {ComputeAt{"E", "S.j"}, Join{{"S.i", "P.i", "Y.i"}}}),
            "S.j S.i");
}

TEST(OnePass, RefusesWhatWouldNotBeThere) {
  const auto refused = [](const std::string& sum, const Trace& trace) {
    const std::string text =
        "X: f32[5,23]\nE[i,j] = exp(X[i,j])\nS[i:5] = " + sum + "\nY[i,j] = E[i,j] / S[i]";
    EXPECT_EQ(refusal(text, trace), Refusal::kMultipleConsumers) << text;
  };
  // A part of the elements, in another order, with neighbours.
  refused("sum(j:22) E[i,j]", {ComputeAt{"E", "S.i"}});
  refused("sum(j:12) E[i,2*j]", {ComputeAt{"E", "S.j"}});
  refused("sum(j:23) E[i,22-j]", {ComputeAt{"E", "S.j"}});
  refused("sum(j:22) E[i,j] * E[i,j+1]", {ComputeAt{"E", "S.i"}});
  refused("sum(j:23) E[i,i]", {ComputeAt{"E", "S.i"}});
  // Another reader must come before.
  EXPECT_EQ(refusal("X: f32[5,23]\nE[i,j] = exp(X[i,j])\nA[i] = max(j) E[i,j]\n"
                    "S[i] = sum(j) E[i,j] * A[i]\nY[i] = A[i] / S[i]",
                    {ComputeAt{"E", "S.i"}}),
            Refusal::kMultipleConsumers);
  // Threads would compute the same elements.
  EXPECT_EQ(
      refusal("X: f32[23]; W: f32[3,23]\nE[j] = exp(X[j])\nS[i] = sum(j) E[j] * W[i,j]\n"
              "Y[j] = E[j] / S[0]",
              {Annotate{.loop = "S.i", .kind = ir::LoopKind::kParallel}, ComputeAt{"E", "S.j"}}),
      Refusal::kMultipleConsumers);
}

// A cache with its padding begins below 0 or ends beyond its buffer's shape: who reads the shape
// reads only a part of it.
TEST(OnePass, OfACacheWithItsPadding) {
  const Trace trace = {Cache{"X", "C", "", ir::Scope::kMemory, {}}, ComputeAt{"C", "S.i"}};
  const auto text = [](const std::string& sum, const std::string& later) {
    return "X: f32[5,23]\nS[i:5] = " + sum + "\nY" + later;
  };
  const std::string shape = "sum(j:23) X[i,j]";
  for (const char* later :
       {"[i:5,j:12] = X[i,j-1 else 1] + S[i]", "[i:5,j:24] = X[i,j else 1] + S[i]",
        "[i:6,j:23] = X[i-1,j else 1] + S[0]", "[i:4,j:23] = X[i+2,j else 1] + S[i]"})
    EXPECT_EQ(refusal(text(shape, later), trace), Refusal::kMultipleConsumers) << later;
  // Padding that is never read is not there, and who reads all of the padding brings it along.
  const auto same = [&](const std::string& workload) {
    ir::Nest nest = nest_of(workload);
    must_apply(nest, trace);
    expect_same(program(workload), nest);
  };
  same(text(shape, "[i:5,j:12] = X[i,j+1 else 1] + S[i]"));
  same(text("sum(j:26) X[i,j-2 else 1]", "[i:5,j:23] = X[i,j] + S[i]"));
  same(text("sum(j:26) X[i,j-2 else 1]", "[i:5,j:24] = X[i,j-1 else 1] + S[i]"));
}

}  // namespace
}  // namespace lathe::schedule
