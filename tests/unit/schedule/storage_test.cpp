// Steps that move computation and storage: compute_at both ways, inline, cache, layout, rfactor,
// tensorize. What they do is shown in docs/steps.md; here is what they refuse, and what they do
// with open sizes.
#include "unit/schedule/support.h"

namespace lathe::schedule {
namespace {

using R = Refusal;
using std::int64_t;

constexpr std::string_view kChain = "X: f32[12]; T[i] = X[i] * 2.0; Y[i:10] = sum(r:3) T[i+r]";
constexpr std::string_view kEpilogue =
    "A: f32[10, 7]; B: f32[7, 33]; C[i,j] = sum(k) A[i,k] * B[k,j]; D[i,j] = max(C[i,j], 0.0)";

Cache cache(const char* buffer, const char* loop, std::vector<LayoutItem> layout = {}) {
  return {buffer, "cached", loop, ir::Scope::kMemory, std::move(layout)};
}

TEST(ComputeAt, Refusals) {
  EXPECT_EQ(refusal(kChain, {ComputeAt{"Q", "Y.i"}}), R::kNoSuchBlock);
  EXPECT_EQ(refusal(kChain, {ComputeAt{"T", "Q"}}), R::kNoSuchLoop);
  EXPECT_EQ(refusal(kChain, {ComputeAt{"Y", "T.i"}}), R::kIsOutput);
  EXPECT_EQ(refusal(kChain, {ComputeAt{"T", "T.i"}}), R::kThereAlready);
  EXPECT_EQ(refusal("X: f32[4]; T[i] = X[i]; U[i] = T[i] + 1.0; Y[i] = T[i] + U[i]",
                    {ComputeAt{"T", "Y.i"}}),
            R::kMultipleConsumers);
  EXPECT_EQ(refusal("X: f32[4]; T[i] = X[i]; Y[i] = T[i]; Z[i] = X[i]", {ComputeAt{"T", "Z.i"}}),
            R::kNotUsedThere);
  EXPECT_EQ(refusal("X: f32[4]; S[i] = X[i]; T[i] = S[i]; Y[i] = T[i]",
                    {ComputeAt{"S", "T.i"}, ComputeAt{"T", "Y.i"}}),
            R::kNotNested);
}

TEST(ReverseComputeAt, Refusals) {
  EXPECT_EQ(refusal(kEpilogue, {ReverseComputeAt{"C", "D.i"}}), R::kNotUsedThere);
  EXPECT_EQ(refusal(kEpilogue, {ReverseComputeAt{"D", "D.i"}}), R::kThereAlready);
  EXPECT_EQ(refusal("X: f32[8]; T[i] = X[i]; Y[i:4] = T[2*i]", {ReverseComputeAt{"Y", "T.i"}}),
            R::kNotElementwise);
  EXPECT_EQ(
      refusal("X: f32[8]; U[i] = X[i]; T[i] = X[i]; Y[i] = U[i]", {ReverseComputeAt{"Y", "T.i"}}),
      R::kNotUsedThere);
  EXPECT_EQ(refusal("X: f32[8]; T[i] = X[i]; U[i] = X[i]; Y[i] = T[i] + U[i]",
                    {ReverseComputeAt{"Y", "T.i"}}),
            R::kBreaksDependence);
  // One iteration of the inner tile loop computes every fourth element only.
  EXPECT_EQ(refusal(kEpilogue, {Split{"C.i", int64_t{4}, "io", "ii"}, Reorder{{"ii", "io"}},
                                ReverseComputeAt{"D", "ii"}}),
            R::kBadLayout);
  // Every iteration of the parallel loop would compute all of the result behind its own copy of B.
  EXPECT_EQ(refusal(kMatmul, {Annotate{.loop = "C.i", .kind = ir::LoopKind::kParallel},
                              Cache{"B",
                                    "b",
                                    "C.i",
                                    ir::Scope::kMemory,
                                    {{0, int64_t{8}}, {0, int64_t{1}}, {1, int64_t{1}}}},
                              ReverseComputeAt{"C", "b.d0"}}),
            R::kBreaksDependence);
}

// Sums of what one iteration computes as a whole.
// Z would run in the last iteration of the sum alone, which has one of its elements.
TEST(ReverseComputeAt, RefusesWhatWaitsForASumThatMovesIt) {
  const char* text =
      "X: f32[4,6]; E[i,j] = exp(X[i,j]); S[i] = sum(k) E[i,k]; Z[i,j] = E[i,j] / S[i]";
  EXPECT_EQ(refusal(text, {ComputeAt{"E", "S.k"}, ReverseComputeAt{"Z", "S.k"}}),
            R::kBreaksDependence);
  EXPECT_NE(after(text, {ComputeAt{"E", "S.i"}, ReverseComputeAt{"Z", "S.i"}}).find("Z: Z[i, j]"),
            std::string::npos);
}

TEST(ReverseComputeAt, TakesReductions) {
  const char* rows = "X: f32[6,5]; T[i,k] = X[i,k] * 2.0; S[i] = sum(k) T[i,k]";
  const std::string nest = after(rows, {ReverseComputeAt{"S", "T.i"}});
  EXPECT_NE(nest.find("T: memory f32[6, 5] at T.i"), std::string::npos) << nest;
  EXPECT_NE(nest.find("S: S[i] sum= T[i, k]"), std::string::npos) << nest;
  // One iteration has a part of what is summed up.
  EXPECT_EQ(refusal(rows, {ReverseComputeAt{"S", "T.k"}}), R::kIsAReduction);
  EXPECT_EQ(refusal("X: f32[6,5]; T[i,k] = X[i,k] * 2.0; S[k] = sum(i) T[i,k]",
                    {ReverseComputeAt{"S", "T.i"}}),
            R::kIsAReduction);
  EXPECT_EQ(refusal(rows, {Split{"T.k", int64_t{2}, "ko", "ki"}, ReverseComputeAt{"S", "ko"}}),
            R::kIsAReduction);
}

// Rows and columns of a table of products are made by one loop: an iteration has its diagonal only.
TEST(ReverseComputeAt, RefusesDiagonals) {
  EXPECT_EQ(
      refusal("X: f32[5]; T[i] = X[i] * 2.0; Y[i,j] = T[i] * T[j]", {ReverseComputeAt{"Y", "T.i"}}),
      R::kBreaksDependence);
  EXPECT_EQ(refusal("X: f32[5,3]; T[i,k] = X[i,k] * 2.0; Y[i,j] = sum(k) T[i,k] * T[j,k]",
                    {ReverseComputeAt{"Y", "T.i"}}),
            R::kBreaksDependence);
}

TEST(Inline, Refusals) {
  EXPECT_EQ(refusal(kEpilogue, {Inline{"C"}}), R::kIsAReduction);
  EXPECT_EQ(refusal(kChain, {Inline{"Y"}}), R::kIsOutput);
  EXPECT_EQ(refusal(kEpilogue, {cache("D", "", {}), Inline{"cached"}}), R::kIsOutput);
}

TEST(Cache, Refusals) {
  EXPECT_EQ(refusal(kMatmul, {cache("Q", "")}), R::kNoSuchBuffer);
  EXPECT_EQ(refusal(kMatmul, {cache("A", "Q")}), R::kNoSuchLoop);
  EXPECT_EQ(refusal(kMatmul, {Cache{"A", "B", "", ir::Scope::kMemory, {}}}), R::kNameTaken);
  EXPECT_EQ(refusal(kMatmul, {Cache{"A", "x", "", ir::Scope::kInput, {}}}), R::kBadScope);
  EXPECT_EQ(refusal(kEpilogue, {cache("A", "D.i")}), R::kNotUsedThere);
  EXPECT_EQ(refusal(kMatmul, {cache("A", "", {{0, int64_t{1}}})}), R::kBadLayout);
  EXPECT_EQ(refusal(kMatmul, {cache("A", "", {{0, int64_t{1}}, {2, int64_t{1}}})}), R::kBadLayout);
  EXPECT_EQ(refusal(kMatmul,
                    {cache("A", "",
                           {{0, int64_t{3}}, {0, int64_t{2}}, {0, int64_t{1}}, {1, int64_t{1}}})}),
            R::kBadLayout);
  EXPECT_EQ(refusal("X: f32[8]; Y[i:8] = X[i-1 else 0] + X[i+1 else 1]", {cache("X", "")}),
            R::kPadNeedsOwnStorage);
}

TEST(Layout, Refusals) {
  EXPECT_EQ(refusal(kMatmul, {Layout{"A", {}, 0}}), R::kPlainBorder);
  EXPECT_EQ(refusal(kMatmul, {Layout{"A", {}, -1}}, true), R::kBadNumber);
  EXPECT_EQ(refusal(kMatmul, {Layout{"A", {}, std::int64_t{1} << 40}}, true), R::kBadNumber);
}

TEST(Layout, OfABorderInFreeMode) {
  const std::string text =
      after(kMatmul, {Layout{"A", {{1, int64_t{1}}, {0, int64_t{1}}}, 0}}, true);
  EXPECT_NE(text.find("A: input f32[10, 7] layout (1/1, 0/1)"), std::string::npos) << text;
}

TEST(Stream, OfAnOutputThatIsStoredOnce) {
  const std::string text = after("A: f32[5,33]; B[i,j] = A[i,j] + 1.0", {Stream{"B"}});
  EXPECT_NE(text.find("B: output f32[5, 33], streaming\n"), std::string::npos) << text;
  // What is written back of a sum, or computed from one.
  after(kMatmul, {cache("C", "C.j"), Stream{"C"}});
  after("A: f32[9,9]; T[i] = sum(k) A[i,k]; Y[i] = max(T[i], 0.0)", {Stream{"Y"}});
}

TEST(Stream, Refusals) {
  EXPECT_EQ(refusal(kMatmul, {Stream{"D"}}), R::kNoSuchBuffer);
  EXPECT_EQ(refusal(kMatmul, {Stream{"A"}}), R::kReadAgain);
  EXPECT_EQ(refusal(kMatmul, {Stream{"C"}}), R::kReadAgain);
  EXPECT_EQ(
      refusal("A: f32[9]; output T: f32[9]; T[i] = A[i] + 1.0; Y[i] = T[i] * T[i]", {Stream{"T"}}),
      R::kReadAgain);
}

TEST(Rfactor, Refusals) {
  EXPECT_EQ(refusal(kMatmul, {Rfactor{"C", "C.i", "P"}}), R::kNotAReduction);
  EXPECT_EQ(refusal(kMatmul, {Rfactor{"C", "C.k", "A"}}), R::kNameTaken);
}

TEST(Rfactor, FreesTheLoopForThreads) {
  const std::string text = after(
      kMatmul, {Split{"C.k", int64_t{4}, "ko", "ki"}, Rfactor{"C", "ko", "P"},
                Reorder{{"ko", "C.i"}}, Annotate{.loop = "ko", .kind = ir::LoopKind::kParallel}});
  EXPECT_NE(text.find("for parallel ko < 2:"), std::string::npos) << text;
}

TEST(Tensorize, Refusals) {
  constexpr std::string_view kTile = "A: f32[8, 8]; B: f32[8, 8]; C[i,j] = sum(k) A[k,i] * B[k,j]";
  const ir::IntrinsicId gemm = *ir::intrinsic_named("gemm8x8");
  EXPECT_EQ(refusal(kTile, {Tensorize{"C.j", gemm}}), R::kIntrinsicMismatch);
  EXPECT_EQ(refusal(kMatmul, {Tensorize{"C.i", gemm}}), R::kIntrinsicExtents);
  EXPECT_EQ(refusal(kTile, {cache("A", "C.i"), Tensorize{"C.i", gemm}}), R::kNotInnermost);
  EXPECT_EQ(refusal(kTile, {Tensorize{"C.i", gemm}, Split{"C.k", int64_t{2}, "a", "b"}}),
            R::kAlreadyBound);
  // The innermost dimension of the result must be contiguous in lanes.
  EXPECT_EQ(
      refusal("A: f32[8, 8]; B: f32[8, 16]; C[i,j:8] = sum(k) A[k,i] * B[k,2*j]; D[i,j] = C[i,j]",
              {Tensorize{"D.i", gemm}}),
      R::kIntrinsicMismatch);
}

TEST(Trace, ErrorsCarryTheirPosition) {
  ir::Nest nest = nest_of(kMatmul);
  const std::string before = ir::print(nest);
  const auto done = schedule::apply(nest, Trace{Split{"C.i", int64_t{4}, "io", "ii"}, Inline{"C"}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().step, 1);
  EXPECT_EQ(done.error().text(),
            "step 1: C: an output must be computed completely, at the top of the program");
  EXPECT_EQ(ir::print(nest), before);
}

TEST(Trace, JsonErrorsNameTheStep) {
  const auto error = [](const char* text) {
    const auto trace = trace_from_json(*parse_json(text));
    return trace ? std::string() : trace.error().text();
  };
  EXPECT_EQ(error("{}"), "a trace must be a list of steps");
  EXPECT_EQ(error(R"([{"step": "inline", "block": "T"}, 7])"), "step 1: a step must be an object");
  EXPECT_TRUE(error(R"([{"step": "explode"}])")
                  .starts_with("step 0: \"explode\" is no step; known are split, fuse"));
  EXPECT_TRUE(error(R"([{"step": "annotate", "loop": "i", "kind": "fast"}])")
                  .starts_with("step 0: \"fast\" is no loop kind"));
  EXPECT_EQ(
      error(R"([{"step": "tensorize", "loop": "i", "intrinsic": "gemm9x9"}])"),
      "step 0: \"gemm9x9\" is no intrinsic; known are gemm8x8, mma.m16n8k8.tf32; did you mean "
      "gemm8x8?");
  EXPECT_EQ(error(R"([{"step": "tensorize", "loop": "i", "intrinsic": ""}])"),
            "step 0: \"\" is no intrinsic; known are gemm8x8, mma.m16n8k8.tf32");
  EXPECT_TRUE(error(R"([{"step": "split", "loop": "i"}])").starts_with("step 0: "));
  EXPECT_EQ(error(R"([{"step": "join", "loops": ["i", "j"], "loop": "i"}])"),
            "step 0: join has no member \"loop\"; it has loops");
  EXPECT_EQ(error(R"([{"step": "annotate", "loop": "i", "bytes": 64}])"),
            "step 0: annotate sets nothing; give it \"kind\", \"tail\" or \"prefetch\"");
}

// Every step once, with every field in JSON that can be left out both there and not.
constexpr const char* kEveryStep =
    R"([{"step":"split","loop":"a","factor":4,"outer":"b","inner":"c","tail":"mask"},)"
    R"({"step":"fuse","loops":["b","c"],"fused":"d"},)"
    R"({"step":"reorder","loops":["d","e"]},)"
    R"({"step":"compute_at","block":"T","loop":"d"},)"
    R"({"step":"reverse_compute_at","block":"U","loop":"d"},)"
    R"({"step":"inline","block":"V"},)"
    R"({"step":"cache","buffer":"X","name":"X.c","loop":"d","scope":"memory",)"
    R"("layout":[[1,4],[0,1],[1,1]]},)"
    R"({"step":"cache","buffer":"X","name":"X.r","loop":"","scope":"register",)"
    R"("layout":[],"reader":"T"},)"
    R"({"step":"layout","buffer":"Y","layout":[[0,1]],"pad_stride":8},)"
    R"({"step":"layout","buffer":"Y","layout":[],"pad_stride":0},)"
    R"({"step":"rfactor","block":"S","loop":"k","name":"S.p"},)"
    R"({"step":"rfactor","block":"S","loop":"k","name":"S.p","dim":0},)"
    R"({"step":"tensorize","loop":"d","intrinsic":"gemm8x8"},)"
    R"({"step":"annotate","loop":"d","kind":"vectorize"},)"
    R"({"step":"annotate","loop":"d","tail":"shift"},)"
    R"({"step":"annotate","loop":"d","prefetch":"X","bytes":64},)"
    R"({"step":"stream","buffer":"Y"}])";

TEST(Trace, JsonAndTextOfEveryStep) {
  const auto trace = trace_from_json(*parse_json(kEveryStep));
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(to_json(*trace).dump(), kEveryStep);
  EXPECT_EQ(print(*trace),
            "split a by 4 into b, c, tail mask\n"
            "fuse b, c into d\n"
            "reorder d, e\n"
            "compute T at d\n"
            "compute U behind its producer at d\n"
            "inline V\n"
            "cache X as X.c in memory at d, layout (1/4, 0/1, 1/1)\n"
            "cache X as X.r in register for T\n"
            "layout of Y is (0/1), rows padded by 8\n"
            "layout of Y is row-major\n"
            "rfactor S over k into S.p\n"
            "rfactor S over k into S.p, dimension 0\n"
            "tensorize d by gemm8x8\n"
            "vectorize d\n"
            "tail of d is shift\n"
            "prefetch X in d, 64 bytes ahead\n"
            "stores to Y go past the caches\n");
}

// Without any one field, a step is refused with that field's name, or it is one that has a default.
TEST(Trace, JsonNeedsEveryField) {
  const Json steps = *parse_json(kEveryStep);
  for (const Json& step : steps)
    for (const auto& [name, value] : step.items()) {
      Json less = step;
      less.erase(name);
      const auto trace = trace_from_json(Json::array({less}));
      if (name == "reader" || name == "dim") {
        EXPECT_TRUE(trace) << less;
        continue;
      }
      ASSERT_FALSE(trace) << less;
      const bool chooses = step.at("step") == "annotate" && (name == "kind" || name == "tail");
      EXPECT_NE(trace.error().text().find(chooses ? "prefetch" : name), std::string::npos)
          << trace.error().text();
    }
}

TEST(Trace, OpenSizesBecomeNumbers) {
  ir::Nest nest = nest_of(kMatmul);
  const ir::SizeId p = nest.sizes.knob(0, "p");
  const Trace open = {
      Split{"C.i", p, "io", "ii"},
      Cache{"B", "Bp", "", ir::Scope::kMemory, {{1, p}, {0, int64_t{1}}, {1, int64_t{1}}}}};
  must_apply(nest, open);
  const int64_t knobs[] = {3};
  const Trace closed = concretize(open, ir::SizedNest(nest, knobs));
  ir::Nest replayed = nest_of(kMatmul);
  must_apply(replayed, closed);
  EXPECT_EQ(ir::print(ir::SizedNest(nest, knobs)), ir::print(ir::SizedNest(replayed, {})));
  EXPECT_EQ(
      print(closed),
      "split C.i by 3 into io, ii, tail peel\ncache B as Bp in memory, layout (1/3, 0/1, 1/1)\n");
}

}  // namespace
}  // namespace lathe::schedule
