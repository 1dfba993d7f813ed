// Steps that change loops only: split, fuse, reorder, annotate.
#include "unit/schedule/support.h"

namespace lathe::schedule {
namespace {

using R = Refusal;

Trace split_once(const char* loop, std::int64_t factor) {
  return {Split{loop, factor, std::string(loop) + "o", std::string(loop) + "i"}};
}

TEST(Split, ReplacesADigitByTwo) {
  const std::string text = after(kMatmul, split_once("C.i", 4));
  EXPECT_NE(text.find("for C.io < 3:\n  for C.ii < 4:"), std::string::npos) << text;
  EXPECT_NE(text.find("i = C.io*4 + C.ii < 10;"), std::string::npos) << text;
}

TEST(Split, GuardsIterationsThatBelongToTheNextTile) {
  const std::string text = after(
      kMatmul, {Split{"C.i", std::int64_t{4}, "io", "ii"}, Split{"ii", std::int64_t{3}, "a", "b"}});
  EXPECT_NE(text.find("i = io*4 + a*3 + b < 10;"), std::string::npos) << text;
  EXPECT_NE(text.find("; a*3 + b < 4\n"), std::string::npos) << text;
}

TEST(Split, OfAnOuterLoopNeedsNoGuard) {
  const std::string text = after(
      kMatmul, {Split{"C.i", std::int64_t{4}, "io", "ii"}, Split{"io", std::int64_t{2}, "a", "b"}});
  EXPECT_NE(text.find("i = a*8 + b*4 + ii < 10; j = C.j < 33; k = C.k < 7\n"), std::string::npos)
      << text;
}

TEST(Split, OfAReductionKeepsItsWriteBackToIterationsThatSum) {
  const std::string text =
      after("X: f32[9]; Y[i:7] = sum(r:3) X[i+r]",
            {Reorder{{"Y.r", "Y.i"}}, Cache{"Y", "acc", "Y.i", ir::Scope::kMemory, {}},
             Split{"Y.r", std::int64_t{2}, "o", "p"}});
  EXPECT_NE(text.find("c0 = Y.i + acc.d0 < 7; o*2 + p < 3\n"), std::string::npos) << text;
}

TEST(Split, OfAReductionMayNotLoseTheLastIterationThatAConsumerWaitsFor) {
  constexpr std::string_view kText = "X: f32[9]; Y[i:7] = sum(r:3) X[i+r]; Z[i] = max(Y[i], 0.0)";
  EXPECT_EQ(refusal(kText, {Reorder{{"Y.r", "Y.i"}}, ReverseComputeAt{"Z", "Y.i"},
                            split_once("Y.r", 2)[0]}),
            R::kBadFactor);
}

TEST(Split, Refusals) {
  EXPECT_EQ(refusal(kMatmul, split_once("C.q", 4)), R::kNoSuchLoop);
  EXPECT_EQ(refusal(kMatmul, split_once("C.i", 0)), R::kNotPositive);
  EXPECT_EQ(refusal(kMatmul, {Split{"C.i", std::int64_t{4}, "C.j", "ii"}}), R::kNameTaken);
  EXPECT_EQ(refusal(kMatmul, {Split{"C.i", std::int64_t{4}, "x", "x"}}), R::kNameTaken);
  EXPECT_EQ(refusal(kMatmul, {Annotate{.loop = "C.j", .kind = ir::LoopKind::kVectorized},
                              split_once("C.j", 4)[0]}),
            R::kAlreadyBound);
  EXPECT_EQ(refusal(kMatmul, {Split{"C.k", std::int64_t{4}, "ko", "ki", ir::Tail::kShift}}),
            R::kShiftRepeatsReduction);
}

// A fused loop goes through all iterations, also those that compute nothing: nobody waits for
// these.
TEST(Split, TilesAreNotMuchLongerThanTheirLoop) {
  constexpr std::int64_t kMany = 1'000'000'000'000;
  EXPECT_EQ(refusal(kMatmul, split_once("C.i", kMany)), R::kTooLong);
  EXPECT_EQ(refusal(kMatmul, split_once("C.i", (1 << 24) + 1)), R::kTooLong);
  after(kMatmul, split_once("C.i", 1 << 24));
  after("A: f32[2000000000]; B[i] = A[i]", split_once("B.i", 1'999'999'999));
  constexpr std::int64_t kTile = 1 << 24;
  EXPECT_EQ(refusal(kMatmul, {Split{"C.i", kTile, "a", "b"}, Split{"C.j", kTile, "c", "d"},
                              Reorder{{"a", "c", "b", "d"}}, Fuse{{"b", "d"}, "f"}}),
            R::kTooLong);
}

TEST(Fuse, LeavesDivAndMod) {
  const std::string text = after(kMatmul, {Fuse{{"C.i", "C.j"}, "f"}});
  EXPECT_NE(text.find("for f < 330:"), std::string::npos) << text;
  EXPECT_NE(text.find("i = f/33 < 10; j = f%33 < 33;"), std::string::npos) << text;
}

TEST(Fuse, Refusals) {
  EXPECT_EQ(refusal(kMatmul, {Fuse{{"C.j", "C.k"}, "f"}}), R::kFusesKinds);
  EXPECT_EQ(refusal(kMatmul, {Fuse{{"C.i", "C.k"}, "f"}}), R::kNotNested);
  EXPECT_EQ(refusal(kMatmul, {Fuse{{"C.i"}, "f"}}), R::kTooFewLoops);
  EXPECT_EQ(refusal(kMatmul, {Fuse{{"C.i", "C.j"}, "C.k"}}), R::kNameTaken);
}

TEST(Reorder, PermutesNamedLoopsOnly) {
  const std::string text = after(kMatmul, {Reorder{{"C.k", "C.i"}}});
  EXPECT_NE(text.find("for C.k < 7:\n  for C.j < 33:\n    for C.i < 10:"), std::string::npos)
      << text;
}

TEST(Reorder, Refusals) {
  EXPECT_EQ(refusal(kMatmul, {Reorder{{"C.i", "C.i"}}}), R::kNamedTwice);
  EXPECT_EQ(refusal("A: f32[4]; output B: f32[4]; B[i] = A[i] + 1.0; C[i] = B[i] + 1.0",
                    {Reorder{{"B.i", "C.i"}}}),
            R::kNotOnOnePath);
}

TEST(Annotate, MakesNestedLoopsParallel) {
  const auto parallel = [](const char* loop) {
    return Annotate{.loop = loop, .kind = ir::LoopKind::kParallel};
  };
  for (const auto& trace :
       {Trace{parallel("C.i"), parallel("C.j")}, Trace{parallel("C.j"), parallel("C.i")}}) {
    const std::string text = after(kMatmul, trace);
    EXPECT_NE(text.find("for parallel C.i < 10:\n  for parallel C.j < 33:"), std::string::npos)
        << text;
  }
}

// Also where all of them write the same value: to write an element twice at a time is a race.
TEST(Annotate, RefusesIterationsThatWriteOneElementAlike) {
  constexpr std::string_view kTwice =
      "X: f32[5]; W: f32[7]; T[i] = X[i] * 2.0; Y[i,j] = T[i] + W[j]; Z[i] = T[i] - 1.0";
  for (const ir::LoopKind kind : {ir::LoopKind::kParallel, ir::LoopKind::kThreadX}) {
    const auto concurrent = [&](const char* loop) { return Annotate{.loop = loop, .kind = kind}; };
    const ComputeAt at{"T", "Y.j"};
    const Fuse fuse{{"Y.i", "Y.j"}, "f"};
    EXPECT_EQ(refusal(kTwice, {at, concurrent("Y.j")}), R::kBreaksDependence);
    EXPECT_EQ(refusal(kTwice, {at, fuse, concurrent("f")}), R::kBreaksDependence);
    EXPECT_EQ(
        refusal(kTwice, {at, fuse, Split{"f", std::int64_t{7}, "fo", "fi"}, concurrent("fi")}),
        R::kBreaksDependence);
    // Each element of T is of one iteration here.
    after(kTwice, {at, concurrent("Y.i")});
    after(kTwice, {at, fuse, Split{"f", std::int64_t{7}, "fo", "fi"}, concurrent("fo")});
    after(kTwice, {fuse, concurrent("f")});
  }
}

TEST(Annotate, KnowsIterationsThatWriteApart) {
  const auto parallel = [](const char* loop) {
    return Annotate{.loop = loop, .kind = ir::LoopKind::kParallel};
  };
  const Split rows{"C.i", std::int64_t{4}, "io", "ii"}, again{"ii", std::int64_t{3}, "a", "b"};
  for (const char* loop : {"io", "a", "b"})
    for (const auto& order : {Reorder{{"io", "a", "b"}}, Reorder{{"a", "b", "io"}},
                              Reorder{{"b", "io", "a"}}, Reorder{{"b", "a", "io"}}})
      after(kMatmul, {rows, again, order, parallel(loop)});
  after(kMatmul, {Fuse{{"C.i", "C.j"}, "f"}, Split{"f", std::int64_t{11}, "fo", "fi"},
                  Reorder{{"fi", "fo"}}, parallel("fi")});
  after("X: f32[9, 6]; Y[i:5, j:3, p:2] = X[2*i, 2*j + p]", {parallel("Y.i"), parallel("Y.j")});
}

TEST(Annotate, Refusals) {
  const auto kind = [](const char* loop, ir::LoopKind k) {
    return Annotate{.loop = loop, .kind = k};
  };
  EXPECT_EQ(refusal(kMatmul, {kind("C.k", ir::LoopKind::kParallel)}), R::kReductionInParallel);
  // Parallel loops inside each other run as one: nothing may stand between them.
  EXPECT_EQ(refusal(kMatmul, {Reorder{{"C.i", "C.k", "C.j"}}, kind("C.i", ir::LoopKind::kParallel),
                              kind("C.j", ir::LoopKind::kParallel)}),
            R::kAlreadyBound);
  EXPECT_EQ(refusal(kMatmul,
                    {Cache{"B", "B.pack", "C.i", ir::Scope::kMemory, {}},
                     kind("C.i", ir::LoopKind::kParallel), kind("C.j", ir::LoopKind::kParallel)}),
            R::kAlreadyBound);
  EXPECT_EQ(
      refusal(kMatmul,
              {Annotate{.loop = "C.i", .what = Annotate::What::kTail, .tail = ir::Tail::kPad}}),
      R::kPadNeedsOwnStorage);
  EXPECT_EQ(
      refusal(kMatmul, {Annotate{.loop = "C.i", .what = Annotate::What::kPrefetch, .buffer = "C"}}),
      R::kNotUsedThere);
}

}  // namespace
}  // namespace lathe::schedule
