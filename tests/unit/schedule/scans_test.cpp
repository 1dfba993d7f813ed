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

constexpr std::string_view kExtremes =
    "X: i32[3,4,11]\nY[a,t,b] = max(X[a,t,b] * 2, Y[a,t+1,b else -9])";

TEST(Scans, MayHaveLanesAlongTheirAxis) {
  const Annotate lanes = kind("Y.t.i", ir::LoopKind::kVectorized);
  expect_kept(kRows, {split("Y.t", 4), lanes});
  expect_kept(kExtremes, {split("Y.t", 2), Reorder{{"Y.b", "Y.t.i"}}, lanes});
  EXPECT_EQ(refusal(kRows, {split("Y.t", 3), lanes}), Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kRows, {split("Y.t", 4), kind("Y.t.o", ir::LoopKind::kVectorized)}),
            Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kExtremes, {split("Y.t", 2), lanes}), Refusal::kBreaksScan);  // not innermost
  expect_kept(kColumns, {split("Y.t", 4), Reorder{{"Y.i", "Y.t.i"}}, lanes});
  for (const char* own : {"1.5", "X[t]", "-0.0", "0.00001"})  // overflows, is no number, vanishes
    EXPECT_EQ(refusal(fmt::format("X: f32[32]\nY[t] = {} * Y[t-1 else 0] + X[t]", own),
                      {split("Y.t", 16), kind("Y.t.i", ir::LoopKind::kVectorized)}),
              Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kBetween, {split("Y.t", 4), lanes}), Refusal::kBreaksScan);  // Y[t-2]
  EXPECT_EQ(refusal("X: f16[16]\nY[t] = Y[t-1 else 0] + X[t]", {split("Y.t", 4), lanes}),
            Refusal::kBreaksScan);
}

TEST(Scans, AreCutIntoParts) {
  for (const std::int64_t size : {1, 2, 3, 5, 12}) {
    const CutScan cut{"Y", size, "T", "B"};
    expect_kept(kRows, {cut});
    expect_kept(kRows, {cut, kind("Y.t.part", ir::LoopKind::kParallel),
                        kind("T.t.part", ir::LoopKind::kParallel), Reorder{{"Y.t.part", "Y.i"}}});
    expect_kept(kRows, {cut, Fuse{{"Y.i", "Y.t.part"}, "f"}, kind("f", ir::LoopKind::kParallel)});
  }
  for (const std::int64_t size : {1, 2, 3}) expect_kept(kExtremes, {CutScan{"Y", size, "T", "B"}});
  const CutScan cut{"Y", 8, "T", "B"};
  expect_kept(kRows, {cut, split("Y.t", 4), kind("Y.t.i", ir::LoopKind::kVectorized)});
  expect_kept(kRows, {cut, split("Y.t", 3), split("T.t", 2), Rfactor{"T", "T.t.i", "P"}});
  expect_kept(kRows, {cut, Fuse{{"Y.t.part", "Y.t"}, "f"}});
}

TEST(Scans, AreNotCutOtherwise) {
  const CutScan cut{"Y", 4, "T", "B"};
  EXPECT_EQ(refusal(kRows, {CutScan{"Y", 13, "T", "B"}}), Refusal::kBadFactor);
  EXPECT_EQ(refusal(kRows, {CutScan{"Y", 0, "T", "B"}}), Refusal::kNotPositive);
  EXPECT_EQ(refusal(kRows, {CutScan{"Y", 4, "T", "T"}}), Refusal::kNameTaken);
  EXPECT_EQ(refusal(kRows, {CutScan{"Y", 4, "X", "B"}}), Refusal::kNameTaken);
  EXPECT_EQ(refusal(kRows, {split("Y.t", 4), cut}), Refusal::kNotAsWritten);
  EXPECT_EQ(refusal(kRows, {cut, CutScan{"Y", 2, "T2", "B2"}}), Refusal::kNotAsWritten);
  EXPECT_EQ(refusal(kColumns, {cut}), Refusal::kNoScan);
  EXPECT_EQ(refusal(kBetween, {CutScan{"Y", 4, "S", "B"}}), Refusal::kNoScan);
  EXPECT_EQ(refusal("X: f32[16]\nY[t] = X[t]", {cut}), Refusal::kNoScan);
  EXPECT_EQ(refusal(kRows, {cut, kind("Y.t", ir::LoopKind::kParallel)}), Refusal::kBreaksScan);
  EXPECT_EQ(
      refusal(kRows, {cut, Fuse{{"Y.t.part", "Y.t"}, "f"}, kind("f", ir::LoopKind::kParallel)}),
      Refusal::kBreaksScan);
  EXPECT_EQ(
      refusal(kRows, {cut, Reorder{{"Y.t", "Y.t.part"}}, kind("Y.t", ir::LoopKind::kParallel)}),
      Refusal::kBreaksScan);
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
