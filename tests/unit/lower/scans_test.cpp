// Scans by vectors, with lanes along their axis, and in parts: every operation, type, direction and
// awkward length, on random and on special numbers.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/flat_eval.h"
#include "oracle/te_eval.h"
#include "support/special_values.h"
#include "support/targets.h"

namespace lathe {
namespace {

using schedule::Annotate, schedule::CutScan, schedule::Reorder, schedule::Split;

// Another order of a sum may have as large an error as what its terms add up to twice.
constexpr double kOrders = 4;

struct Case {
  std::string text;
  schedule::Trace trace;
  bool special = false;
  Target target = test::avx512(2);
};

// The lowered program, once it has computed the same as the expression.
flat::Program checked(const Case& c, Rng& rng) {
  const auto workload = te::parse_workload(c.text);
  EXPECT_TRUE(workload) << workload.error().text();
  ir::Nest nest = te::naive_nest(*workload);
  const auto applied = schedule::apply(nest, c.trace, false);
  EXPECT_TRUE(applied) << c.text << ": " << applied.error().text();
  const auto flat = lower::lower(ir::SizedNest(nest, {}), c.target);
  EXPECT_TRUE(flat) << c.text << ": " << flat.error().text();
  if (!applied || !flat) return {};
  EXPECT_TRUE(flat::verify(*flat)) << flat::print(*flat);
  const auto inputs =
      c.special ? special_inputs(*workload, rng) : interp::random_inputs(*workload, rng);
  const auto want = interp::evaluate(*workload, inputs);
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(flat->inputs[i], inputs[i].values));
  const auto got = interp::eval_flat(*flat, stored, {.seed = 1});
  EXPECT_TRUE(want && got) << c.text << (got ? "" : got.error().text()) << flat::print(*flat);
  if (want && got)
    for (std::size_t o = 0; o < want->size(); ++o)
      EXPECT_EQ(
          interp::compare((*want)[o], interp::from_storage(flat->outputs[o], (*got)[o]), kOrders),
          "")
          << c.text << "\n"
          << ir::print(nest) << flat::print(*flat);
  return *flat;
}

Annotate as(const std::string& loop, ir::LoopKind kind) { return {.loop = loop, .kind = kind}; }

// Rows of so many elements; the axis goes by vectors of so many lanes, in so many parts.
struct Shape {
  std::int64_t rows, length, lanes, parts;
  bool backward = false;
};
schedule::Trace trace_of(const Shape& shape, std::int64_t together, ir::Tail tail) {
  schedule::Trace trace;
  std::vector<std::string> order = {"io"};
  const std::int64_t size = (shape.length + shape.parts - 1) / shape.parts;
  const bool cut = shape.parts > 1 && size < shape.length;
  if (cut) {
    trace.push_back(CutScan{"Y", size, "T", "B"});
    trace.push_back(as("Y.t.part", ir::LoopKind::kParallel));
    order.insert(order.begin(), "Y.t.part");
  }
  trace.push_back(Split{"Y.t", shape.lanes, "tv", "tl", tail});
  trace.push_back(Split{"Y.i", together, "io", "iu", ir::Tail::kPeel});
  for (const char* loop : {"tv", "iu", "tl"}) order.emplace_back(loop);
  trace.push_back(Reorder{order});
  trace.push_back(as("iu", ir::LoopKind::kUnrolled));
  trace.push_back(as("tl", ir::LoopKind::kVectorized));
  return trace;
}

constexpr const char* kBodies[] = {"{0} + X[i,t]", "X[i,t] + {0}", "max({0}, X[i,t])",
                                   "min(X[i,t] * 2{2}, {0})", "{0} * X[i,t]"};
constexpr const char* kStarts[] = {"0", "3", "-inf", "inf", "1"};

Case case_of(Rng& rng, const char* dtype, std::int64_t real_ops = 5) {
  constexpr std::int64_t kLengths[] = {1, 2, 3, 7, 16, 17, 31, 64, 67, 131};
  const auto pick = [&](std::int64_t most) {
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most)));
  };
  Shape shape{1 + pick(5), kLengths[pick(10)], std::int64_t{1} << (1 + pick(4)), 1 + pick(4),
              pick(3) == 0};
  const bool real = dtype[0] == 'f';
  const std::int64_t op = real ? pick(real_ops) : pick(2);
  const std::string before =
      fmt::format("Y[i,t{}1 else {}]", shape.backward ? "+" : "-", kStarts[op]);
  return {fmt::format("X: {}[{},{}]\nY[i,t] = ", dtype, shape.rows, shape.length) +
              fmt::format(fmt::runtime(kBodies[op]), before, 0, real ? ".0" : ""),
          trace_of(shape, 1 + pick(3), pick(2) == 0 ? ir::Tail::kPeel : ir::Tail::kMask)};
}

TEST(ScansByVectors, ComputeWhatTheyAreWrittenAs) {
  for (std::uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    constexpr const char* kTypes[] = {"f32", "f64", "i32", "i64"};
    Case c = case_of(rng, kTypes[seed % 4]);
    if (seed % 3 == 0) c.target = test::sse(1);
    checked(c, rng);
  }
}

// Without products, which may leave the range of a type in one order and not in another.
TEST(ScansByVectors, KeepNanAndInfinities) {
  for (std::uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    Case c = case_of(rng, seed % 2 == 0 ? "f32" : "f64", 4);
    c.special = true;
    checked(c, rng);
  }
}

TEST(ScansByVectors, WaitForOneOperationAVector) {
  Rng rng(1);
  const flat::Program program =
      checked({"X: f32[64]\nY[t] = Y[t-1 else 0] + X[t]",
               {Split{"Y.t", std::int64_t{4}, "tv", "tl", ir::Tail::kPeel},
                as("tl", ir::LoopKind::kVectorized)}},
              rng);
  const std::string text = flat::print(program, program.kernels[0].body);
  EXPECT_NE(text.find("r1 = Y[3]\nfor tv in 1..16 {\n"
                      "  t0 = slide(X[tv * 4 : 4], -1 : 4, -0.0) + X[tv * 4 : 4]\n"
                      "  r2 = slide(t0, -2 : 4, -0.0) + t0\n"
                      "  Y[tv * 4 : 4] = x4(r1) + r2\n"
                      "  r1 = r1 + slide(r2, 3 : 1, 0.0)\n}\n"),
            std::string::npos)
      << text;
}

TEST(ScansByVectors, AreCutForThreads) {
  Rng rng(1);
  const flat::Program program = checked({"X: f32[1,48]\nY[i,t] = max(Y[i,t-1 else -inf], X[i,t])",
                                         trace_of({1, 48, 4, 2}, 1, ir::Tail::kPeel)},
                                        rng);
  const std::string text = flat::print(program, program.kernels[0].body);
  EXPECT_NE(text.find("parallel"), std::string::npos) << text;
}

TEST(ScansByVectors, AreFilters) {
  for (std::uint64_t seed = 1; seed <= 100 && !::testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    constexpr const char* kFactors[] = {"0.5", "-0.9", "1.0", "-1.0", "0.02"};
    constexpr std::int64_t kLengths[] = {1, 3, 16, 33, 71};
    const Shape shape{3, kLengths[rng.below(5)], std::int64_t{1} << (1 + rng.below(4)), 1};
    checked({fmt::format("X: {}[3,{}]\nY[i,t] = {} * Y[i,t-1 else 2] + X[i,t]",
                         seed % 3 == 0 ? "f64" : "f32", shape.length, kFactors[seed % 5]),
             trace_of(shape, 2, ir::Tail::kPeel), seed % 2 == 0},
            rng);
  }
}

// A loop outside of the axis has the lanes: rows are beside each other.
TEST(ScansByVectors, HaveLanesAcrossTheirAxis) {
  Rng rng(1);
  for (const char* factor : {"", "0.5 * "})
    checked({fmt::format("X: f32[8,13]\nY[i,t] = {}Y[i,t-1 else 2] + X[i,t]", factor),
             {as("Y.i", ir::LoopKind::kVectorized)}},
            rng);
}

// Other elements than the one before, a row read backwards, and two scans in one loop.
TEST(ScansByVectors, HaveAnyTerms) {
  Rng rng(1);
  const schedule::Trace trace = {Split{"Y.t", std::int64_t{8}, "tv", "tl", ir::Tail::kPeel},
                                 as("tl", ir::LoopKind::kVectorized)};
  for (const char* terms : {"X[36-t] * X[t]", "X[t+1 else 2] - X[t-3 else 1]", "exp(X[t])",
                            "X[I[t]]", "select(t > 5, X[t], 1.0)"})
    checked({fmt::format("X: f32[37]; I: i32[37] in 0..36\nY[t:37] = Y[t-1 else 0] + ({}){}", terms,
                         std::string(terms).find("I[") == std::string::npos ? " + f32(I[t])" : ""),
             trace},
            rng);
}

}  // namespace
}  // namespace lathe
