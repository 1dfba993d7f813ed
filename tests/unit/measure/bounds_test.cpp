// Which bounds a reference has.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/interp/scalar.h"
#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "support/random_workload.h"
#include "tuner/measure/inputs.h"
#include "tuner/measure/reference.h"
#include "unit/measure/judged.h"

namespace lathe::measure {
namespace {

// Value and bound as the evaluator has them, element by element, for a program written twice.
void expect_bounds_of_the_evaluator(te::Workload workload, std::uint64_t seed) {
  workload.contract.numerics = te::Numerics::kComponentwise;  // as the evaluator has them
  const auto values = random_inputs(workload, seed);
  const auto want = interp::evaluate(workload, as_inputs(workload, values));
  ASSERT_TRUE(want.has_value()) << want.error().text();
  const Reference reference = reference_of(workload, values);
  const bool jumps = reference_workload(workload).jumps;
  for (std::size_t o = 0; o < want->size(); ++o)
    for (std::size_t i = 0; i < (*want)[o].values.size(); ++i) {
      const double value = (*want)[o].values[i], bound = (*want)[o].bounds[i];
      const double got = reference.values[o][i], got_bound = reference.bounds[o][i];
      if (bound == kUnknown) {
        ASSERT_EQ(got_bound, kUnknown) << o << " " << i;
        continue;
      }
      ASSERT_TRUE(got == value || std::abs(got - value) <= bound)
          << got << " for " << value << " within " << bound;
      ASSERT_GE(got_bound, 0.9 * bound) << "of " << value << ", output " << o << " element " << i;
      // Much wider only where a step is a guess away.
      if (jumps) continue;
      ASSERT_LE(got_bound,
                4 * bound + 1e-6 * std::abs(value) + 64 * interp::unit_of(0, (*want)[o].dtype))
          << "of " << value;
    }
}

const char* const kPrograms[] = {
    "A: f32[7, 5]; B: f32[7, 3]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "X: f32[1, 3, 5, 7]; W: f32[2, 3, 3, 3]; b: f32[2]\n"
    "Y[n,o,y:5,x:7] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]\nZ[n,o,y,x] = "
    "relu(Y[n,o,y,x] + b[o])",
    "X: f32[4, 9]; S[i] = max(k) X[i,k]; E[i,j] = exp(X[i,j] - S[i]); T[i] = sum(k) E[i,k]; Y[i,j] "
    "= E[i,j] / T[i]",
    "X: f32[4, 9]; V[i] = sum(k) X[i,k] * X[i,k]; Y[i,j] = X[i,j] * rsqrt(V[i] / 9 + 0.001)",
    "X: f32[4, 9]; M[i] = (sum(k) X[i,k]) / 9; V[i] = sum(k) (X[i,k] - M[i]) * (X[i,k] - M[i]); "
    "Y[i,j] = (X[i,j] - M[i]) / sqrt(V[i])",
    "X: f32[11]; Y[i] = select(X[i] > 0.3, sqrt(abs(X[i])), tanh(X[i]) - 2)",
    "X: f32[11]; Y[i] = select(X[i] * 3 > 0.9, erf(X[i] * 2), -sigmoid(X[i] + 1))",
    "X: f32[11]; Y[i] = min(max(X[i] * 3, -0.5), 1.5) + floor(X[i] * 7) - ceil(X[i] * 5)",
    "X: f32[31]; Y[i] = sin(X[i] * 300) + cos(X[i] * 0.1) * 2; Z[i] = tan(X[i] * 1.5 + 0.001)",
    "X: f32[31]; Y[i] = round(X[i] * 9 + 0.5) + sign(X[i] * 3 - 0.75); Z[i] = sin(X[i] * 4e6)",
    "X: f64[31]; Y[i] = log1p(abs(X[i]) * 0.001) + expm1(X[i] * 0.01); Z[i] = cos(X[i] * 1e9)",
    "X: f32[31]; Y[i] = select(isnan(X[i] / 3) || isinf(X[i] * 3e38 * 4), 1, X[i])",
    "X: f32[31]; Q[i] = i32(X[i] * 100); Y[i] = ~Q[i] + sign(Q[i]); Z[i] = Q[i] << 2 ^ Q[i] >> 1",
    "X: f16[6, 5]; Y[i] = sum(k) f32(X[i,k]) * f32(X[i,k])",
    "X: f16[6, 50]; Y[i] = sum(k) f16(X[i,k] * 2)",
    "X: bf16[6, 5]; Y[i,j] = exp(X[i,j]) / 3",
    "X: i8[6, 5]; Y[i] = sum(k) i32(X[i,k]) * i32(X[i,k])",
    "X: f32[5]; Y[i] = min(log(abs(X[i])), 3 * X[i])",
    "X: f32[6, 31]; P[i] = prod(k) X[i,k]; Y[i] = P[i] + prod(k) (X[i,k] * 1.5)",
    "X: f32[9]; Y[i] = pow(abs(X[i]) + 0.1, 2.5) + pow(X[i] * X[i] + 0.1, X[i] - 0.3)",
    "X: f64[9]; Y[i] = pow(abs(X[i]), X[i]) * exp(X[i] * X[i]) - log(abs(X[i]))",
    "X: f32[50]; Y[i] = i8(X[i] * 100)",
    "X: f32[50]; Q[i] = i8(X[i] * 100); Y[i] = Q[i] / 3 + Q[i] % 5 * 2 - abs(Q[i]); Z[i] = "
    "f32(Q[i]) * 0.3",
    "X: f32[50]; Y[i] = u8(X[i] * 300 + 100); Z[i] = i32(X[i] * 100 + 0.5) * 2",
    "X: f32[20]; B[i] = X[i] * 2 > 1; C[i] = B[i] && X[i] < 0.9 || !B[i]; Y[i] = select(C[i], "
    "X[i], 5); Z[i] = i32(B[i])",
    "X: f32[20]; Y[one:1] = sum(i) i32(X[i] * 10); Z[one:1] = max(i) i32(X[i] * 10)",
    "A: f32[7, 5]; B: f32[7, 3]; C[i,j] = sum(k) f64(A[k,i] * B[k,j])",
    "A: f32[7, 5]; B: f32[5, 9]; C: f32[9, 3]; D[i,j] = sum(k) A[i,k] * B[k,j]; E[i,j] = sum(k) "
    "D[i,k] * C[k,j]",
    "X: f32[3, 40]; Y[i,t] = Y[i,t-1 else 0] + X[i,t]",
    "X: f32[40]; a: f32[40]; Y[t] = a[t] * Y[t+1 else 1] + X[t]; Z[t] = Y[t] * 3 - X[t]",
    "X: f16[9, 3]; Y[t,i] = tanh(0.5 * Y[t-1,i else 0] - Y[t-2,i else 0.25] * X[t,i])",
    "X: f32[3, 20]; W: f32[3, 5]; Y[i,t] = max(Y[i,t-1 else -inf] * 0.9, X[i,t]) + (sum(k) W[i,k])",
    "X: i32[9]; Y[t] = 3 * Y[t-1 else 1] - X[t]",
};

TEST(Bounds, AreThoseOfTheEvaluator) {
  for (const char* text : kPrograms) {
    SCOPED_TRACE(text);
    for (std::uint64_t seed = 1; seed < 20; ++seed)
      expect_bounds_of_the_evaluator(parsed(text), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Bounds, AreThoseOfTheEvaluatorForRandomWorkloads) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const te::Workload workload = random_workload(
        rng, {.dtypes = seed % 2 == 0, .max_iterations = 3'000, .recurrences = 0.15});
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, te::print_workload(workload)));
    expect_bounds_of_the_evaluator(workload, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Bounds, OfASumOfProductsCostOneMoreSum) {
  const ReferenceWorkload reference = reference_workload(parsed(kPrograms[0]));
  int sums = 0;
  for (const te::Stage& stage : reference.workload.stages) {
    if (stage.reduce != ir::ReduceOp::kSum) continue;
    ++sums;
    EXPECT_LE(te::print_workload(reference.workload).size(), 400U)
        << te::print_workload(reference.workload);
  }
  EXPECT_EQ(sums, 2);
}

// A body is written again for its bound, but not twice for each of its operations; what is deep is
// cut.
TEST(Bounds, GrowWithTheirExpressions) {
  std::string nested = "X[i]", chain = "X[i]", steps = "X[i]";
  for (int depth = 0; depth < 60; ++depth) nested = fmt::format("tanh({} * X[i] + 0.1)", nested);
  for (int terms = 0; terms < 240; ++terms) chain += fmt::format(" - X[i] * {}", terms % 7);
  for (int depth = 0; depth < 40; ++depth)
    steps = fmt::format("select(X[i] * 1.1 > 0.3, floor({} * 1.5), X[i])", steps);
  for (const std::string& body : {nested, chain, steps, "sum(k:5) (" + nested + ")"}) {
    const te::Workload workload = parsed("X: f32[3]; Y[i] = " + body);
    EXPECT_LT(te::print_workload(reference_workload(workload).workload).size(), 400'000U);
    expect_bounds_of_the_evaluator(workload, 1);
  }
}

TEST(Bounds, OfExactProgramsAreNone) {
  for (const char* text :
       {"X: i8[6, 5]; Y[i] = sum(k) i32(X[i,k]) * i32(X[i,k])", "X: f32[9]; Y[i] = relu(X[8 - i])",
        "X: f32[9,9]; Y[i] = max(k) X[i,k]", "X: f32[9]; Y[i] = min(Y[i+1 else inf], X[i])",
        "X: i32[9]; Y[i] = 3 * Y[i-1 else 1] - X[i]", "X: f16[9]; Y[i] = f32(X[i])"}) {
    const ReferenceWorkload reference = reference_workload(parsed(text));
    EXPECT_TRUE(reference.names[0].bound.empty()) << text;
    EXPECT_FALSE(reference.jumps);
  }
}

}  // namespace
}  // namespace lathe::measure
