// Loops that follow each other and become one: every stage does a row, and then the next row.
#include <gtest/gtest.h>

#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

constexpr std::string_view kNorm =
    "X: f32[5,7]\nM[i] = max(j) X[i,j]\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = sum(j) E[i,j]\n"
    "Y[i,j] = E[i,j] / S[i]";

Split split_named(const std::string& loop, std::int64_t factor) {
  return {loop, factor, loop + ".o", loop + ".r", ir::Tail::kPeel};
}

// The loops that buffers live in afterwards, as "T:S.i"; what it computes must be the same.
std::string homes(std::string_view text, const Trace& trace) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, trace);
  expect_same(program(text), nest);
  std::string out;
  for (const ir::Buffer& buffer : nest.buffers)
    if (buffer.at != ir::kRoot) out += buffer.name + ":" + nest.loops[buffer.at].name + " ";
  return out;
}

TEST(Join, KeepsRowsForOneIteration) {
  EXPECT_EQ(homes(kNorm, {Join{{"M.i", "E.i", "S.i", "Y.i"}}}), "M:M.i E:M.i S:M.i ");
  // What a later loop reads lives on.
  EXPECT_EQ(homes(kNorm, {Join{{"M.i", "E.i", "S.i"}}}), "M:M.i ");
  EXPECT_EQ(homes(kNorm, {Join{{"S.i", "Y.i"}}, Join{{"M.i", "E.i"}}}), "M:M.i S:S.i ");
}

TEST(Join, TakesBlocksOfRowsWithATail) {
  for (const std::int64_t rows : {1, 2, 3, 5, 8})
    EXPECT_EQ(
        homes(kNorm, {split_named("M.i", rows), split_named("E.i", rows), split_named("S.i", rows),
                      split_named("Y.i", rows), Join{{"M.i.o", "E.i.o", "S.i.o", "Y.i.o"}}}),
        "M:M.i.o E:M.i.o S:M.i.o ")
        << rows;
}

TEST(Join, TakesRowsThatAreTiledInside) {
  EXPECT_EQ(homes(kNorm, {split_named("M.i", 4), split_named("E.i", 4), split_named("S.i", 4),
                          split_named("Y.i", 4), split_named("E.i.r", 3), split_named("M.i.r", 2),
                          split_named("E.j", 4), Join{{"M.i.o", "E.i.o", "S.i.o", "Y.i.o"}}}),
            "M:M.i.o E:M.i.o S:M.i.o ");
}

TEST(Join, TakesProductsThatShareABatch) {
  constexpr std::string_view kTwo =
      "A: f32[3,4,5]; B: f32[3,5,6]; D: f32[3,6,4]\nC[b,i,j] = sum(k) A[b,i,k] * B[b,k,j]\n"
      "Y[b,i,l] = sum(j) C[b,i,j] * D[b,j,l]";
  EXPECT_EQ(homes(kTwo, {Join{{"C.b", "Y.b"}}}), "C:C.b ");
  EXPECT_EQ(homes(kTwo, {Join{{"C.b", "Y.b"}}, Join{{"C.i", "Y.i"}}}), "C:C.i ");
}

TEST(Join, LetsWholeDimensionsBeReadAnyhow) {
  // T does not depend on i, and is computed anew for each.
  EXPECT_EQ(
      homes("X: f32[4,6]\nT[i,j] = X[i,j] * 2.0\nY[i,j] = T[i,5-j] + 1.0", {Join{{"T.i", "Y.i"}}}),
      "T:T.i ");
}

TEST(Join, TakesAStrideOverWholeBlocks) {
  EXPECT_EQ(homes("X: f32[6]\nT[i] = X[i] * 2.0\nY[i:3] = T[2*i]",
                  {split_named("T.i", 2), Join{{"T.i.o", "Y.i"}}}),
            "T:T.i.o ");
}

TEST(Join, ClearsWhatStandsBetween) {
  // B goes behind the loop, D before it.
  constexpr std::string_view kFour =
      "X: f32[4,6]\nA[i] = sum(j) X[i,j]\nB[j] = A[1] + X[0,j]\nD[j] = X[1,j] * 2.0\n"
      "C[i] = sum(j) X[i,j] * X[i,j] * D[j]\nY[i] = A[i] + C[i] + B[0] + D[1]";
  ir::Nest nest = nest_of(kFour);
  must_apply(nest, {Join{{"A.i", "C.i"}}});
  expect_same(program(kFour), nest);
  std::string order;
  for (const ir::BlockId id : nest.blocks_in_order())
    order += nest.blocks[static_cast<std::size_t>(id)].name;
  EXPECT_EQ(order, "DACBY");
  EXPECT_EQ(refusal(kFour, {Join{{"A.i", "C.i", "Y.i"}}}), Refusal::kBreaksDependence);
}

// Rows of a recurrence: what goes on from step to step stays whole, what a step alone needs does
// not.
TEST(Join, LetsRowsGoThroughSteps) {
  constexpr std::string_view kState =
      "X: f32[5,3,4]\nH[t,n,j] = X[t,n,j] + (sum(k) H[t-1,n,k else 0])";
  const ir::Nest nest = nest_of(kState);
  std::vector<std::string> rows, steps;
  for (const ir::Loop& loop : nest.loops) {
    if (loop.name.ends_with(".n")) rows.push_back(loop.name);
    if (loop.name.ends_with(".t.step")) steps.push_back(loop.name);
  }
  ASSERT_EQ(rows.size(), 2u);
  ASSERT_EQ(steps.size(), 1u);
  const auto inner = [](const std::string& row) { return row.substr(0, row.size() - 1) + "t"; };
  EXPECT_EQ(homes(kState, {Reorder{{rows[0], inner(rows[0])}}, Reorder{{rows[1], inner(rows[1])}},
                           Join{rows}, Reorder{{rows[0], steps[0]}}}),
            "H_acc:" + steps[0] + " ");
  // Rows that need others of the step before stay apart.
  constexpr std::string_view kMixed =
      "X: f32[5,3]\nS[t:5,n:3] = H[t-1,2-n else 0] * 0.5\nH[t:5,n:3] = X[t,n] + S[t,n]";
  EXPECT_EQ(
      refusal(kMixed, {Reorder{{"S.n", "S.t"}}, Reorder{{"H.n", "H.t"}}, Join{{"S.n", "H.n"}}}),
      Refusal::kBreaksDependence);
}

TEST(Join, RunsInParallel) {
  const auto parallel = [](const char* loop) {
    return Annotate{.loop = loop, .kind = ir::LoopKind::kParallel};
  };
  constexpr std::string_view kTwo = "X: f32[4,6]\nS[i] = sum(j) X[i,j]\nY[i,j] = X[i,j] / S[i]";
  EXPECT_EQ(homes(kTwo, {parallel("S.i"), parallel("Y.i"), Join{{"S.i", "Y.i"}}}), "S:S.i ");
  EXPECT_EQ(homes(kTwo, {Join{{"S.i", "Y.i"}}, parallel("S.i")}), "S:S.i ");
  EXPECT_EQ(refusal(kTwo, {parallel("S.i"), Join{{"S.i", "Y.i"}}}), Refusal::kNotAlike);
}

TEST(Join, LeavesSumsThatAreUnderWay) {
  // The cache of C is made anew for each part of the sum, so C keeps what the parts add up to.
  EXPECT_EQ(
      homes("A: f32[4,6]; B: f32[6,5]\nC[i,j] = sum(k) A[i,k] * B[k,j]\nD[i,j] = relu(C[i,j])",
            {split_named("C.k", 2), Reorder{{"C.k.o", "C.i", "C.j", "C.k.r"}},
             ReverseComputeAt{"D", "C.k.o"}, Cache{"C", "c", "C.k.o", ir::Scope::kMemory, {}},
             Join{{"c.d0", "D.i@C.k.o"}}}),
      "c:C.k.o ");
}

TEST(Join, RefusesWhatIsNotThereYet) {
  const auto refused = [](std::string_view text, Trace trace) {
    EXPECT_EQ(refusal(text, trace), Refusal::kBreaksDependence) << text;
  };
  // A neighbour's row, the rows the other way round, a whole column.
  refused("X: f32[6]\nT[i] = X[i] * 2.0\nY[i:6] = T[i] + T[i+1 else 0]", {Join{{"T.i", "Y.i"}}});
  refused("X: f32[6]\nT[i] = X[i] * 2.0\nY[i] = T[5-i]", {Join{{"T.i", "Y.i"}}});
  refused("X: f32[6,6]\nT[i,j] = X[i,j] * 2.0\nY[i,j] = T[j,i]", {Join{{"T.i", "Y.i"}}});
  // A neighbour in the next block of rows, which a tile reaches.
  refused("X: f32[14]\nT[i] = X[i] * 2.0\nY[i:12] = T[i] + T[i+2]",
          {split_named("T.i", 7), split_named("T.i.r", 4), split_named("Y.i", 7),
           Join{{"T.i.o", "Y.i.o"}}});
  // Blocks of rows that do not belong together.
  refused("X: f32[6]\nT[i] = X[i] * 2.0\nY[i] = T[i] + 1.0",
          {split_named("T.i", 2), split_named("Y.i", 3), Reorder{{"T.i.r", "T.i.o"}},
           Join{{"T.i.r", "Y.i.o"}}});
}

TEST(Join, NamesWhatIsWrong) {
  EXPECT_EQ(refusal(kNorm, {Join{{"M.i"}}}), Refusal::kTooFewLoops);
  EXPECT_EQ(refusal(kNorm, {Join{{"M.i", "M.i"}}}), Refusal::kNamedTwice);
  EXPECT_EQ(refusal(kNorm, {Join{{"M.i", "Z.i"}}}), Refusal::kNoSuchLoop);
  EXPECT_EQ(refusal(kNorm, {Join{{"M.i", "S.i"}}}), Refusal::kBreaksDependence);
  EXPECT_EQ(refusal(kNorm, {Join{{"E.i", "M.i"}}}), Refusal::kNotAlike);
  EXPECT_EQ(refusal(kNorm, {split_named("M.i", 2), Join{{"M.i.o", "E.i"}}}), Refusal::kNotAlike);
  EXPECT_EQ(refusal("X: f32[4,4]\nS[i] = sum(j) X[i,j]\nY[j] = sum(i) X[i,j] * S[i]",
                    {Reorder{{"Y.i", "Y.j"}}, Join{{"S.i", "Y.i"}}}),
            Refusal::kReductionInParallel);
}

// The cache of a part of the row has a guard, and M sums up what it lets pass: M goes on from one
// of them to the next.
TEST(Join, ThenReducesBehindACacheThatEndsEarly) {
  for (const std::int64_t parts : {2, 3, 4})
    EXPECT_EQ(
        homes("X: f32[5,4]\nM[i] = sum(k) X[i,k]\nY[i,j] = X[i,j] - M[i]",
              {split_named("M.k", 2), Rfactor{"M", "M.k.o", "P"}, Join{{"M.i", "M.i@P"}},
               split_named("M.r@P", parts), Cache{"P", "c", "M.r@P.o", ir::Scope::kMemory, {}},
               ReverseComputeAt{"M", "c.d0"}}),
        "P:M.i c:c.d0 ")
        << parts;
}

}  // namespace
}  // namespace lathe::schedule
