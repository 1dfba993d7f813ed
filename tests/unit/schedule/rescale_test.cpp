// Partial results relative to the extreme of their own part: what is computed stays the same, also
// of infinities and NaN.
#include <cmath>

#include <gtest/gtest.h>

#include "support/special_values.h"
#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

// Exponentials are rounded once more.
constexpr double kRescaledErrors = 4;

// Cuts the reductions' loop `k` in parts.
Trace parts(const std::vector<std::string>& blocks, std::int64_t factor, int dim = 0) {
  Trace out;
  for (const std::string& b : blocks) {
    out.push_back(Split{b + ".k", factor, b + ".p", b + ".e", ir::Tail::kPeel});
    out.push_back(Rfactor{b, b + ".p", b + ".parts", dim});
  }
  return out;
}

Trace and_then(Trace first, const Trace& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

void expect_same_of_specials(const te::Workload& workload, const ir::Nest& nest) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const auto inputs = special_inputs(workload, rng);
    const auto want = interp::evaluate(workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
    ASSERT_TRUE(got) << got.error().text();
    for (std::size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(interp::compare((*want)[i], (*got)[i].values, kRescaledErrors), "")
          << "seed " << seed << "\n"
          << ir::print(nest);
  }
}

struct RescaledCase {
  const char* name;
  std::string_view text;
  Trace first;  // steps before
  std::vector<std::string> blocks;
};

const RescaledCase kCases[] = {
    {"sum", "X: f32[3,23]\nM[i] = max(k) X[i,k]\nY[i] = sum(k) exp(X[i,k] - M[i])", {}, {"M", "Y"}},
    {"least",
     "X: f32[3,23]\nM[i] = min(k) X[i,k]\nY[i] = sum(k) exp(M[i] - X[i,k])",
     {},
     {"M", "Y"}},
    {"softmax",
     "X: f32[3,23]\nM[i] = max(k) X[i,k]\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = sum(k) E[i,k]\n"
     "Y[i,j] = E[i,j] / S[i]",
     {Inline{"E"}},
     {"M", "S"}},
    {"weighted",
     "X: f32[3,23]; W: f32[23,2]\nM[i] = max(k) X[i,k]\n"
     "Y[i,j] = sum(k) W[k,j] * exp(X[i,k] - M[i]) / 3.0",
     {},
     {"M", "Y"}},
    {"logsumexp",
     "X: f32[3,23]\nL[i] = max(k) X[i,k]\nM[i] = select(abs(L[i]) < inf, L[i], 0)\n"
     "S[i] = sum(k) exp(X[i,k] - M[i])\nY[i] = M[i] + log(S[i])",
     {Inline{"M"}},
     {"L", "S"}},
    {"argmax",
     "X: f32[3,23]\nM[i] = max(k) X[i,k]\n"
     "Y[i] = min(k) select(X[i,k] == M[i] || X[i,k] != X[i,k], k, 23)",
     {},
     {"M", "Y_acc"}},
    {"argmin_of_integers",
     "X: i32[3,23]\nM[i] = min(k) X[i,k]\nY[i] = min(k) select(M[i] == X[i,k], k, 23)",
     {},
     {"M", "Y_acc"}},
    {"last_place",
     "X: f32[3,23]\nM[i] = max(k) X[i,k]\nY[i] = max(k) select(X[i,k] == M[i], k, -1)",
     {},
     {"M", "Y_acc"}},
    {"count",
     "X: i32[3,23]\nM[i] = max(k) X[i,k]\nY[i] = sum(k) select(X[i,k] == M[i], 1.0, 0.0)",
     {},
     {"M", "Y"}},
    {"narrow_integers",
     "X: i8[3,23]\nM[i] = max(k) X[i,k]\nY[i] = min(k) select(X[i,k] == M[i], k, 23)",
     {Inline{"M"}},
     {"M_acc", "Y_acc"}},
    {"halves",
     "X: f16[3,23]\nM[i] = max(k) X[i,k]\nS: f32[3]\nS[i] = sum(k) exp(X[i,k] - M[i])\n"
     "Y[i] = S[i] * 2.0",
     {Inline{"M"}},
     {"M_acc", "S"}},
    {"columns",
     "X: f32[23,5]\nM[j] = max(k) X[k,j]\nY[j] = sum(k) exp(X[k,j] - M[j])",
     {},
     {"M", "Y"}},
    {"two_axes",
     "X: f32[3,23,2]\nM[i] = max(k,l) X[i,k,l]\nY[i] = sum(k,l) exp(X[i,k,l] - M[i])",
     {},
     {"M", "Y"}},
    {"all", "X: f32[23]\nM[o:1] = max(k) X[k]\nY[o:1] = sum(k) exp(X[k] - M[o])", {}, {"M", "Y"}},
    {"all_at_zero",
     "X: f32[23]\nM[o:1] = max(k) X[k]\nY[o:1] = sum(k) exp(X[k] - M[0])",
     {},
     {"M", "Y"}},
    {"of_an_expression",
     "X: f32[3,23]; Z: f32[23]\nM[i] = max(k) X[i,k] * Z[k]\n"
     "Y[i] = sum(k) exp(X[i,k] * Z[k] - M[i])",
     {},
     {"M", "Y"}},
};

class Rescaled : public ::testing::TestWithParam<RescaledCase> {};
TEST_P(Rescaled, ComputesTheSame) {
  const RescaledCase& c = GetParam();
  for (const std::int64_t factor : {1, 2, 7, 8, 22, 23, 30})
    for (const int dim : {0, -1}) {
      SCOPED_TRACE(fmt::format("parts of {}, dimension {}", factor, dim));
      Trace trace = and_then(c.first, parts(c.blocks, factor, dim));
      trace.push_back(Rescale{c.blocks[1], c.blocks[0]});
      ir::Nest nest = nest_of(c.text);
      must_apply(nest, trace);
      expect_same(program(c.text), nest, kRescaledErrors);
      expect_same_of_specials(program(c.text), nest);
    }
}
INSTANTIATE_TEST_SUITE_P(Terms, Rescaled, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(Rescale, LetsBothReductionsGoThroughAPartTogether) {
  const std::string_view text = kCases[0].text;
  Trace trace = parts({"M", "Y"}, 7);
  trace.push_back(Rescale{"Y", "M"});
  for (const char* b : {"M", "Y"})
    trace.push_back(Reorder{{std::string(b) + ".p", std::string(b) + ".i"}});
  const Trace apart = parts({"M", "Y"}, 7);
  EXPECT_EQ(refusal(text, and_then(apart, {Reorder{{"M.p", "M.i"}}, Reorder{{"Y.p", "Y.i"}},
                                           Join{{"M.p", "Y.p"}}})),
            Refusal::kBreaksDependence);
  trace.push_back(Join{{"M.p", "Y.p"}});
  trace.push_back(Annotate{.loop = "M.p", .kind = ir::LoopKind::kParallel});
  ir::Nest nest = nest_of(text);
  must_apply(nest, trace);
  expect_same(program(text), nest, kRescaledErrors);
  EXPECT_EQ(nest.blocks_in(nest.find_loop("M.p")).size(), 2U);
}

TEST(Rescale, RefusesOtherTerms) {
  const auto refused = [](const std::string& sum, const std::string& extreme = "max(k) X[i,k]") {
    const std::string text =
        "X: f32[3,23]; Z: f32[3,23]\nM[i] = " + extreme + "\nY[i] = " + sum + "\nU[i] = Z[i,0]";
    return refusal(text, and_then(parts({"M", "Y"}, 7), {Rescale{"Y", "M"}}));
  };
  EXPECT_EQ(refused("sum(k) (X[i,k] - M[i])"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("sum(k) exp(Z[i,k] - M[i])"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("sum(k) exp(M[i] - X[i,k])"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("sum(k) exp(X[i,k] - M[i]) * M[i]"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("sum(k) (exp(X[i,k] - M[i]) + 1.0)"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("max(k) exp(X[i,k] - M[i])"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("sum(k) exp(X[i,k] - M[i])", "sum(k) X[i,k]"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("sum(k) X[i,k]"), Refusal::kNotAnExtreme);
  // Where the maximum is infinite, elements beyond the mask would make it NaN.
  EXPECT_EQ(refused("sum(k) select(k < 5, exp(X[i,k] - M[i]), 0.0)"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("sum(k) select(X[i,k] == M[i], 2, 1)"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("min(k) select(X[i,k] == M[i] || X[i,k] < 0.5, i32(k), 23)"),
            Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("min(k) select(X[i,k] == M[i], i32(k), i32(k) + 1)"), Refusal::kNotAnExtreme);
}

TEST(Rescale, NamesWhatIsWrong) {
  const std::string_view text = kCases[0].text;
  EXPECT_EQ(refusal(text, {Rescale{"Y", "M"}}), Refusal::kNoParts);
  EXPECT_EQ(refusal(text, {Rescale{"Z", "M"}}), Refusal::kNoSuchBlock);
  EXPECT_EQ(refusal(text, and_then(parts({"Y"}, 7), {Rescale{"Y", "M"}})), Refusal::kNoParts);
  EXPECT_EQ(refusal(text, and_then(parts({"M", "Y"}, 7), {Rescale{"M", "Y"}})),
            Refusal::kNotAnExtreme);
  // Other parts than those of the maximum.
  EXPECT_EQ(
      refusal(text, and_then(and_then(parts({"M"}, 8), parts({"Y"}, 6)), {Rescale{"Y", "M"}})),
      Refusal::kOtherParts);
  // The last of each part, and the first.
  EXPECT_EQ(refusal(text, and_then(parts({"M"}, 5),
                                   {Split{"Y.k", 5, "Y.p", "Y.e", ir::Tail::kPeel},
                                    Rfactor{"Y", "Y.e", "Y.parts", 0}, Rescale{"Y", "M"}})),
            Refusal::kOtherParts);
  // Its results are rescaled already.
  EXPECT_EQ(refusal(text, and_then(parts({"M", "Y"}, 7), {Rescale{"Y", "M"}, Rescale{"Y", "M"}})),
            Refusal::kNoParts);
}

}  // namespace
}  // namespace lathe::schedule
