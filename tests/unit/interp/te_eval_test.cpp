// The evaluator on cases small enough to check by hand, its bounds, and that a naive nest computes
// the same.
#include "oracle/te_eval.h"
#include "compiler/interp/reduction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/nest_eval.h"
#include "support/random_workload.h"

namespace lathe::interp {
namespace {

te::Workload parsed(std::string_view text) {
  auto workload = te::parse_workload(text);
  LATHE_CHECK(workload.has_value(), "{}", workload.error().text());
  return *std::move(workload);
}

std::vector<double> values_of(std::string_view text,
                              const std::vector<std::vector<double>>& inputs) {
  const te::Workload workload = parsed(text);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const te::Tensor& t = workload.tensors[static_cast<std::size_t>(workload.inputs()[i])];
    tensors.push_back({t.dtype, t.shape, inputs[i], {}});
  }
  auto out = evaluate(workload, tensors);
  LATHE_CHECK(out.has_value(), "{}", out.error().text());
  return out->front().values;
}

using Values = std::vector<double>;

TEST(TeEval, Matmul) {
  EXPECT_EQ(values_of("A: f32[2,3]; B: f32[3,2]; C[i,j] = sum(k) A[i,k] * B[k,j]",
                      {{1, 2, 3, 4, 5, 6}, {1, 0, 0, 1, 2, 3}}),
            (Values{7, 11, 16, 23}));
}

TEST(TeEval, IndicesAreDividedClampedAndMirrored) {
  const Values row = {1, 2, 3, 4};
  EXPECT_EQ(values_of("A: f32[4]; Y[x:6] = A[x*2/3]", {row}), (Values{1, 1, 2, 3, 3, 4}));
  EXPECT_EQ(values_of("A: f32[4]; Y[x:6] = A[min(max(x - 1,0),3)]", {row}),
            (Values{1, 1, 2, 3, 4, 4}));
  EXPECT_EQ(values_of("A: f32[4]; Y[x:6] = A[3 - abs(3 - abs(x - 1))]", {row}),
            (Values{2, 1, 2, 3, 4, 3}));
  EXPECT_EQ(values_of("A: f32[4]; Y[x:6] = A[(x + 3) % 4]", {row}), (Values{4, 1, 2, 3, 4, 1}));
  EXPECT_EQ(values_of("A: f32[4]; Y[x:4] = A[x*x else -1]", {row}), (Values{1, 2, -1, -1}));
  EXPECT_EQ(values_of("A: f32[2,3]; Y[x:6] = A[x%2,x/2]", {{1, 2, 3, 4, 5, 6}}),
            (Values{1, 4, 2, 5, 3, 6}));
}

TEST(TeEval, IndicesAreReadFromTensors) {
  const Values row = {1, 2, 3, 4};
  EXPECT_EQ(values_of("A: f32[4]; I: i32[3] in 0..3; Y[n] = A[I[n]]", {row, {3, 0, 2}}),
            (Values{4, 1, 3}));
  EXPECT_EQ(values_of("A: f32[4]; I: i64[3]; Y[n] = A[I[n] - 1 else 9]", {row, {5, 4, 0}}),
            (Values{9, 4, 9}));
  EXPECT_EQ(values_of("A: f32[4]; G: u8[3] = {1,1,3}; Y[n] = A[select(n < 2,G[n],0)]", {row}),
            (Values{2, 2, 1}));
  EXPECT_EQ(values_of("A: f32[2,2]; I: i8[2,2] in 0..1; Y[j] = sum(k) A[I[j,k],k]",
                      {{1, 2, 3, 4}, {1, 0, 1, 1}}),
            (Values{5, 7}));
}

// Where an index may be rounded either way, so may what it reads.
TEST(TeEval, RoundedIndicesAreInDoubt) {
  const te::Workload workload =
      parsed("A: f32[4]; F: f32[2]; Y[n] = A[min(max(i32(F[n] * 3),0),3)]");
  const auto out = evaluate(
      workload, {{Dtype::kF32, {4}, {1, 2, 8, 4}, {}}, {Dtype::kF32, {2}, {2.0 / 3, 0.5}, {}}});
  ASSERT_TRUE(out.has_value()) << out.error().text();
  EXPECT_GE(out->front().bounds[0], 6);
  EXPECT_EQ(out->front().bounds[1], 0);
  EXPECT_EQ(out->front().values[1], 2);
}

TEST(TeEval, PaddedWindowReadsThePad) {
  EXPECT_EQ(values_of("A: f32[3]; Y[x:3] = sum(s:3) A[x + s - 1 else 10]", {{1, 2, 3}}),
            (Values{13, 6, 15}));
  EXPECT_EQ(values_of("A: f32[3]; Y[x:2] = max(s:3) A[2*x + s - 1 else -inf]", {{-1, -2, -3}}),
            (Values{-1, -2}));
}

TEST(TeEval, IntegersWrapAndDivideTowardsZero) {
  EXPECT_EQ(values_of("A: i8[3]; Y[i] = A[i] + 100", {{27, 28, 100}}), (Values{127, -128, -56}));
  EXPECT_EQ(values_of("A: u8[2]; Y[i] = A[i] - 1", {{0, 5}}), (Values{255, 4}));
  EXPECT_EQ(values_of("A: i32[2]; Y[i] = A[i] / 3 * 10 + A[i] % 3", {{-7, 7}}), (Values{-21, 21}));
  EXPECT_EQ(values_of("A: i8[3]; Y[one:1] = sum(i) A[i] * A[i]", {{100, 100, 100}}),
            (Values{30000}));
}

TEST(TeEval, SumsAndProductsBeyondWhatADoubleHoldsAreUnknown) {
  const auto bound_of = [](const std::string& text) {
    const auto workload = te::parse_workload(text);
    LATHE_CHECK(workload.has_value(), "{}", workload.error().text());
    return evaluate(*workload, std::vector<Tensor>{{Dtype::kI64, {30}, Values(30, 2), {}}})
        ->front()
        .bounds.at(0);
  };
  EXPECT_EQ(bound_of("X: i64[30]; Y[o:1] = prod(k) (2*X[k] + 1)"), HUGE_VAL);
  EXPECT_EQ(bound_of("X: i64[30]; Y[o:1] = sum(k) X[k]*1125899906842623"), HUGE_VAL);
  EXPECT_EQ(bound_of("X: i64[30]; Y[o:1] = prod(k) X[k]"), 0);
  EXPECT_EQ(bound_of("X: i64[30]; Y[o:1] = sum(k) X[k]*35184372088832"), 0);
}

TEST(TeEval, CastsSaturateFromFloatsAndWrapFromIntegers) {
  EXPECT_EQ(values_of("A: f32[4]; Y[i] = i8(A[i])", {{-1.9, 1.9, 1000, NAN}}),
            (Values{-1, 1, 127, 0}));
  EXPECT_EQ(values_of("A: i32[2]; Y[i] = u8(A[i])", {{257, -1}}), (Values{1, 255}));
  EXPECT_EQ(values_of("A: f32[2]; Y[i] = i32(bool(A[i]))", {{0, 0.5}}), (Values{0, 1}));
}

TEST(TeEval, SelectIteratorsAndFunctions) {
  EXPECT_EQ(values_of("A: f32[3]; Y[i] = select(i >= 1 && A[i] != 5, f32(i), -A[i])", {{4, 5, 6}}),
            (Values{-4, -5, 2}));
  const Values y = values_of("A: f32[1]; Y[i] = sigmoid(A[i]) + erf(A[i]) + pow(A[i], 3)", {{0.5}});
  EXPECT_DOUBLE_EQ(y[0], 1 / (1 + std::exp(-0.5)) + std::erf(0.5) + 0.125);
}

// As NumPy has it.
TEST(TeEval, BitsAndShifts) {
  EXPECT_EQ(values_of("A: i8[4]; Y[i] = ~A[i] & 15 | A[i] ^ 1", {{0, 5, -7, 127}}),
            (Values{15, 14, -2, 126}));
  EXPECT_EQ(values_of("A: u8[2]; Y[i] = ~A[i]", {{0, 200}}), (Values{255, 55}));
  EXPECT_EQ(values_of("A: i32[5]; Y[i] = A[i] << 30", {{1, 2, 3, -1, 4}}),
            (Values{0x1p30, -0x1p31, -0x1p30, -0x1p30, 0}));
  EXPECT_EQ(values_of("A: i8[4]; B: i8[4]; Y[i] = A[i] >> B[i]", {{-5, -5, 5, -5}, {1, 8, 8, -1}}),
            (Values{-3, -1, 0, -1}));
  EXPECT_EQ(values_of("A: i8[3]; B: i8[3]; Y[i] = A[i] << B[i]", {{-5, -5, 5}, {4, 8, -1}}),
            (Values{-80, 0, 0}));
  EXPECT_EQ(values_of("A: u8[3]; Y[i] = A[i] >> A[i]", {{200, 3, 1}}), (Values{0, 0, 0}));
  EXPECT_EQ(values_of("A: i64[2]; Y[i] = sign(A[i] >> 40) + A[i]", {{-0x1p45, 1}}),
            (Values{-1 - 0x1p45, 1}));
}

TEST(TeEval, SignsRoundingAndSpecialNumbers) {
  EXPECT_EQ(values_of("A: f32[5]; Y[i] = round(A[i])", {{0.5, 1.5, -2.5, 2.51, -0.2}}),
            (Values{0, 2, -2, 3, 0}));
  EXPECT_EQ(values_of("A: f32[4]; Y[i] = sign(A[i])", {{0.5, -HUGE_VAL, 0, -0.0}}),
            (Values{1, -1, 0, 0}));
  EXPECT_TRUE(std::isnan(values_of("A: f32[1]; Y[i] = sign(A[i])", {{NAN}})[0]));
  EXPECT_EQ(values_of("A: f32[4]; Y[i] = i32(isnan(A[i])) + 2 * i32(isinf(A[i]))",
                      {{NAN, HUGE_VAL, -HUGE_VAL, 1}}),
            (Values{1, 2, 2, 0}));
}

TEST(TeEval, AnglesBeyondTheLimitAreKnownToBeSomeAngle) {
  const te::Workload p = parsed("A: f32[3]; Y[i] = sin(A[i])");
  const auto out = evaluate(p, {{Dtype::kF32, {3}, {3, 0x1p20, 0x1p21}, {}}});
  ASSERT_TRUE(out);
  EXPECT_LT(out->front().bounds[1], 1e-6);
  EXPECT_GE(out->front().bounds[2], 2);
  EXPECT_LT(out->front().bounds[2], 2.1);
}

TEST(TeEval, WhatIsNotFiniteIsOpenWhereFactorsMayBeSummedUpFirst) {
  const auto bound_of = [](const std::string& text, bool of_three = true) {
    const Tensor a{Dtype::kF32, {2}, {-HUGE_VAL, 1}, {}}, b{Dtype::kF32, {2}, {1, -1}, {}};
    std::vector<Tensor> inputs = {a, b};
    if (of_three) inputs.push_back(b);
    return evaluate(parsed(text), inputs)->front().bounds.at(0);
  };
  const std::string two = "A: f32[2]; B: f32[2]", three = two + "; C: f32[2]; ";
  EXPECT_EQ(bound_of(two + "; Y[o:1] = sum(k) A[k] * B[k]", false), 0);
  EXPECT_EQ(bound_of(two + "; Y[o:1] = sum(k,j) A[k] * B[j]", false), HUGE_VAL);
  EXPECT_EQ(bound_of(two + "; Y[o:1] = sum(k) A[k] / B[k]", false), HUGE_VAL);
  EXPECT_EQ(bound_of(three + "Y[o:1] = sum(k) A[k] * B[k] * C[k]"), HUGE_VAL);
  EXPECT_EQ(bound_of(three + "S[o:1] = sum(k,j) A[k] * B[j] * C[j]; Y[i:1] = i32(S[i])"), HUGE_VAL);
}

TEST(TeEval, StagesSplitOffComputeTheSame) {
  const Values y = values_of(
      "X: f32[2,2]; Y[i,j] = exp(X[i,j] - (max(k) X[i,k])) / (sum(k) exp(X[i,k] - (max(l) "
      "X[i,l])))",
      {{0, 0, 0, std::log(3.0)}});
  EXPECT_NEAR(y[0], 0.5, 1e-15);
  EXPECT_NEAR(y[3], 0.75, 1e-15);
}

TEST(TeEval, BoundOfASumIsItsMagnitudeInUnits) {
  const te::Workload p = parsed("A: f32[3]; B: f32[3]; C[one:1] = sum(k) A[k] * B[k]");
  const auto out =
      evaluate(p, {{Dtype::kF32, {3}, {1, -2, 3}, {}}, {Dtype::kF32, {3}, {4, 5, 2}, {}}});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->front().values[0], 0);
  const double units = 1 + 8 + std::sqrt(3.0);  // of the products, and of the sum
  EXPECT_NEAR(out->front().bounds[0], units * 20 * 0x1p-23, 1e-12);
}

TEST(TeEval, TermsMayBeAlike) {
  const auto alike = [](const char* text) {
    const auto workload = te::parse_workload(text);
    LATHE_CHECK(workload.has_value(), "{}", text);
    return terms_may_be_alike(*workload, workload->stages.back());
  };
  for (const char* text :
       {"A: f32[5,7]; S[i] = sum(j) A[i,j]",
        "A: f32[5,7]; B: f32[7,3]; S[i,k] = sum(j) A[i,j] * B[j,k]",
        "A: f32[5,7]; m: f32[5]; S[i] = sum(j) exp(A[i,j] - m[i]) * 0.1",
        "A: f32[9]; S[i:7] = sum(r:3) A[i + r]", "A: i8[5,7]; S[i] = sum(j) f32(A[i,j])",
        "A: f32[5,7]; S[i] = sum(j) A[i,j] / 3",
        "A: f32[5]; B: f32[7]; S[one:1] = sum(i,j) A[i] * B[j]", "A: f32[5]; S[i] = sum(p:1) A[i]",
        "A: f32[9]; w: f32[3]; S[i:9] = sum(r:3) A[i + r - 1 else 0] * w[r]"})
    EXPECT_FALSE(alike(text)) << text;
  for (const char* text :
       {"A: f32[5]; S[i] = sum(p:7) A[i]", "A: f32[5,7]; S[i] = sum(j,p:3) A[i,j]",
        "S[i:5] = sum(j:7) f32(j)", "A: f32[5,7]; S[i] = sum(j) min(A[i,j], 0.1)",
        "A: f32[5,7]; S[i] = sum(j) tanh(A[i,j])", "A: f32[5,7]; S[i] = sum(j) (A[i,j] + 1000)",
        "A: f32[9]; S[i:9] = sum(r:3) A[i + r - 1 else 0.5]",
        "A: f32[5,7]; S[i] = sum(j) select(A[i,j] > 0, 1, 2)",
        "A: f32[5]; T[i,j:7] = A[i]; S[i] = sum(j) T[i,j]"})
    EXPECT_TRUE(alike(text)) << text;
  EXPECT_EQ(sum_units(100, Dtype::kF32, false), 18);
  EXPECT_EQ(sum_units(100, Dtype::kF32, true), 58);
  EXPECT_EQ(sum_units(100, Dtype::kF16, false), 108);
}

TEST(TeEval, CompareFindsTheElement) {
  const Tensor want{Dtype::kF32, {2, 2}, {1, 2, 3, NAN}, {0.1, 0.1, 0.1, 0.1}};
  EXPECT_EQ(compare(want, {1.05, 2, 3, NAN}, 1), "");
  EXPECT_NE(compare(want, {1, 2, 4, NAN}, 1).find("[1,0]"), std::string::npos);
  EXPECT_NE(compare(want, {1, NAN, 3, NAN}, 1), "");
  EXPECT_NE(compare(want, {1, 2, 3}, 1), "");
}

TEST(TeEval, WrongInputsAreRefused) {
  const te::Workload p = parsed("A: f32[3]; B[i] = A[i]");
  EXPECT_FALSE(evaluate(p, {}));
  EXPECT_FALSE(evaluate(p, {{Dtype::kF32, {4}, {1, 2, 3, 4}, {}}}));
  EXPECT_FALSE(evaluate(p, {{Dtype::kF32, {3}, {1, 2, 3}, {}}, {Dtype::kF32, {3}, {1, 2, 3}, {}}}));
}

// The same programs rounded as a real one: f32 arithmetic in the order written stays within the
// bound.
TEST(NestEval, NaiveNestsComputeWhatTheWorkloadSays) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const te::Workload workload = random_workload(
        rng, {.dtypes = seed % 2 == 0, .max_iterations = 5000, .recurrences = 0.15});
    const std::vector<Tensor> inputs = random_inputs(workload, rng);
    const auto want = evaluate(workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    const ir::Nest nest = te::naive_nest(workload);
    ASSERT_TRUE(ir::verify(nest)) << ir::verify(nest).error().text();
    const auto got = evaluate(ir::SizedNest(nest, {}), inputs);
    ASSERT_TRUE(got) << "seed " << seed << "\n"
                     << te::print_workload(workload) << got.error().text();
    for (std::size_t i = 0; i < want->size(); ++i)
      ASSERT_EQ(compare((*want)[i], (*got)[i].values, 1), "") << "seed " << seed << "\n"
                                                              << te::print_workload(workload);
  }
}

}  // namespace
}  // namespace lathe::interp
