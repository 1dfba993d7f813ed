// Scans: steps keep the order of their elements, or refuse.
#include <gtest/gtest.h>

#include "unit/schedule/kept.h"

namespace lathe::schedule {
namespace {

constexpr std::string_view kRows = "X: f32[5,13]\nY[i,t] = Y[i,t-1 else 0] + X[i,t]";
constexpr std::string_view kColumns = "X: f32[13,5]\nY[t,i] = 0.5 * Y[t+1,i else 1] + X[t,i]";
constexpr std::string_view kBetween =
    "X: f32[5,13]\nT[i,t] = X[i,t] * X[i,t]\nY[i,t] = max(Y[i,t-2 else -inf], T[i,t])\n"
    "Z[i,t] = Y[i,t] - 1.0";

TEST(Scans, RunInOrderAsTheyAreWritten) {
  for (const std::string_view text : {kRows, kColumns, kBetween}) expect_kept(text, {});
  EXPECT_EQ(
      after(kColumns, {}),
      "X: input f32[13, 5]\n"
      "Y: output f32[13, 5]\n"
      "for Y.t < 13:\n"
      "  for Y.i < 5:\n"
      "    Y: Y[-t + 12, i] = 0.5 * Y[-t + 13, i else 1] + X[-t + 12, i]  where t = Y.t < 13; "
      "i = Y.i < 5\n");
}

TEST(Scans, KeepWhatStepsMake) {
  for (const ir::Tail tail : {ir::Tail::kPeel, ir::Tail::kMask}) {
    expect_kept(kRows, {split("Y.t", 4, tail), split("Y.i", 2, tail),
                        Reorder{{"Y.t.o", "Y.i.o", "Y.t.i", "Y.i.i"}},
                        kind("Y.i.i", ir::LoopKind::kUnrolled)});
    expect_kept(kColumns,
                {split("Y.i", 4, tail), Reorder{{"Y.i.o", "Y.t", "Y.i.i"}},
                 kind("Y.i.i", ir::LoopKind::kVectorized), kind("Y.i.o", ir::LoopKind::kParallel)});
  }
  expect_kept(kRows, {Fuse{{"Y.i", "Y.t"}, "f"}, split("f", 13)});
  expect_kept(kRows, {split("Y.t", 4), Fuse{{"Y.t.o", "Y.t.i"}, "t"}});
  // A row at a time in a cache, with the other order of dimensions.
  expect_kept(kRows, {Cache{"Y", "c", "Y.i", ir::Scope::kMemory, {{1, 1}, {0, 1}}}});
  expect_kept(kRows, {Cache{"X", "x", "Y.t", ir::Scope::kMemory, {}}});
}

TEST(Scans, HaveOtherStagesInTheirLoops) {
  expect_kept(kBetween, {Inline{"T"}});
  expect_kept(kBetween, {ComputeAt{"T", "Y.t"}, ReverseComputeAt{"Z", "Y.t"}});
  expect_kept(kBetween, {ComputeAt{"T", "Y.i"}, ReverseComputeAt{"Z", "Y.i"}});
  expect_kept(kBetween, {Join{{"T.i", "Y.i", "Z.i"}}, kind("T.i", ir::LoopKind::kParallel)});
  expect_kept(kBetween, {Join{{"Y.i", "Z.i"}}, Join{{"Y.t", "Z.t"}}});
}

TEST(Scans, RefuseWhatBreaksTheirOrder) {
  for (const ir::LoopKind k : {ir::LoopKind::kVectorized, ir::LoopKind::kParallel,
                               ir::LoopKind::kBlockX, ir::LoopKind::kThreadX})
    EXPECT_EQ(refusal(kRows, {kind("Y.t", k)}), Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kRows, {split("Y.t", 4), Reorder{{"Y.t.i", "Y.t.o"}}}), Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kRows, {split("Y.t", 4, ir::Tail::kShift)}), Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kRows, {Fuse{{"Y.i", "Y.t"}, "f"}, kind("f", ir::LoopKind::kParallel)}),
            Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kBetween, {Inline{"Y"}}), Refusal::kNotElementwise);
  EXPECT_EQ(refusal(kBetween, {ComputeAt{"Y", "Z.i"}}), Refusal::kMultipleConsumers);
  EXPECT_EQ(refusal(kBetween, {ReverseComputeAt{"Y", "T.i"}}), Refusal::kNotElementwise);
  EXPECT_EQ(refusal(kRows, {Cache{"Y", "c", "Y.t", ir::Scope::kMemory, {}}}), Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kRows, {Cache{"Y", "c", "Y.i", ir::Scope::kRegister, {}}}),
            Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kRows, {Stream{"Y"}}), Refusal::kReadAgain);
  EXPECT_EQ(refusal(kRows, {Transpose{"Y", "y", {1, 0}, ""}}), Refusal::kNotAsWritten);
  EXPECT_EQ(refusal(kRows, {Merge{{"Y.i", "Y.t"}}}), Refusal::kNotOneAxis);
}

}  // namespace
}  // namespace lathe::schedule
