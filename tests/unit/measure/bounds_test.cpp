// What the judge accepts: every program that computes in its own types and whatever order, and no
// other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/interp/scalar.h"
#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "runtime/runner/check.h"
#include "support/random_workload.h"
#include "tuner/measure/inputs.h"
#include "tuner/measure/reference.h"

namespace lathe::measure {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

te::Workload parsed(const std::string& text) {
  const auto workload = te::parse_workload(text);
  LATHE_CHECK(workload.has_value(), "{}\n{}", text, workload ? "" : workload.error().text());
  return *workload;
}

std::vector<interp::Tensor> as_inputs(const te::Workload& workload,
                                      const std::vector<std::vector<double>>& values) {
  std::vector<interp::Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(workload.inputs()[i])];
    inputs.push_back({tensor.dtype, tensor.shape, values[i], {}});
  }
  return inputs;
}

// The reference of a program on given inputs, computed by the interpreter; it is printed and parsed
// as on its way to the builder.
Reference reference_of(const te::Workload& workload,
                       const std::vector<std::vector<double>>& values) {
  const ReferenceWorkload made = reference_workload(workload);
  const te::Workload reference = parsed(te::print_workload(made.workload));
  EXPECT_TRUE(te::equal(reference, made.workload)) << te::print_workload(made.workload);
  const auto results = interp::evaluate(reference, as_inputs(reference, values));
  LATHE_CHECK(results.has_value(), "{}", results ? "" : results.error().text());
  const auto output = [&](const std::string& name) {
    for (std::size_t o = 0; o < reference.outputs().size(); ++o)
      if (reference.tensors[static_cast<std::size_t>(reference.outputs()[o])].name == name)
        return (*results)[o].values;
    throw std::logic_error(name);
  };
  Reference out;
  for (const ReferenceNames& names : made.names) {
    out.values.push_back(output(names.value));
    out.bounds.push_back(names.bound.empty() ? std::vector<double>(out.values.back().size(), 0)
                                             : output(names.bound));
    for (double& bound : out.bounds.back())
      if (std::isnan(bound)) bound = kUnknown;
  }
  return out;
}

// What the runner says of f32 results (integers are small here).
bool is_right(const te::Workload& workload, const Reference& reference,
              const std::vector<std::vector<double>>& got) {
  std::vector<std::vector<std::byte>> stored;
  std::vector<runner::Comparison> outputs;
  for (std::size_t o = 0; o < got.size(); ++o) {
    const Dtype dtype = workload.tensors[static_cast<std::size_t>(workload.outputs()[o])].dtype;
    const auto step = static_cast<std::size_t>(size_of(dtype));
    stored.emplace_back(got[o].size() * step);
    for (std::size_t i = 0; i < got[o].size(); ++i)
      store_element(dtype, &stored.back()[i * step], got[o][i]);
  }
  for (std::size_t o = 0; o < got.size(); ++o)
    outputs.push_back({workload.tensors[static_cast<std::size_t>(workload.outputs()[o])].dtype,
                       stored[o].data(), reference.values[o], reference.bounds[o]});
  runner::Loaded result;
  runner::compare(outputs, allowed_error(workload, reference_workload(workload).jumps, reference),
                  result);
  return !result.wrong;
}

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

// Every operation rounded to f32, as a plain C program does.
struct Floats {
  float operator()(double x) const { return static_cast<float>(x); }
};
const Floats f32;

TEST(Judge, AcceptsBothSidesOfAStepWithinRounding) {
  const te::Workload workload = parsed("X: f32[4]; Y[i] = i8(X[i] * 100)");
  const double x = f32(0.29);  // 28.999999 in f64, 29 in f32
  const Reference reference = reference_of(workload, {{x, 0.5, -0.005, 2}});
  ASSERT_EQ(static_cast<float>(x) * 100.0F, 29);
  EXPECT_EQ(reference.values[0][0], 28);
  EXPECT_TRUE(is_right(workload, reference, {{29, 50, 0, 127}}));
  EXPECT_TRUE(is_right(workload, reference, {{28, 50, 0, 127}}));
  EXPECT_TRUE(is_right(workload, reference, {{29, 49, 0, 127}})) << "50 is a step";
  EXPECT_FALSE(is_right(workload, reference, {{30, 50, 0, 127}}));
  EXPECT_FALSE(is_right(workload, reference, {{29, 52, 0, 127}}));
  EXPECT_FALSE(is_right(workload, reference, {{29, 50, 1, 127}}));
  EXPECT_FALSE(is_right(workload, reference, {{29, 50, 0, 126}}))
      << "far beyond the end of the range";
}

TEST(Judge, FollowsTheTypesWithinAnExpression) {
  const te::Workload workload =
      parsed("A: f32[1,3]; B: f32[3,1]; C[i,j] = sum(k) f64(A[i,k] * B[k,j])");
  const std::vector<double> a{f32(0.1), f32(0.7), f32(-0.3)}, b{f32(0.9), f32(0.6), f32(0.11)};
  const Reference reference = reference_of(workload, {a, b});
  double sum = 0, exact = 0;
  for (int k = 0; k < 3; ++k) sum += f32(f32(a[k]) * f32(b[k])), exact += a[k] * b[k];
  ASSERT_NE(sum, exact);
  EXPECT_TRUE(is_right(workload, reference, {{sum}}));
  EXPECT_FALSE(is_right(workload, reference, {{sum + 2e-6}}));
  const te::Workload precise =
      parsed("A: f32[1,3]; B: f32[3,1]; C[i,j] = sum(k) f64(A[i,k]) * f64(B[k,j])");
  EXPECT_FALSE(is_right(precise, reference_of(precise, {a, b}), {{sum}}))
      << "here the products are f64";
}

TEST(Judge, AcceptsProductsThatVanishAndThoseThatOverflowOnTheWay) {
  const te::Workload workload = parsed("X: f32[2,1009]; P[i] = prod(k) X[i,k]");
  const auto values = random_inputs(workload, 3);
  EXPECT_TRUE(is_right(workload, reference_of(workload, values), {{0, 0}}));
  EXPECT_FALSE(is_right(workload, reference_of(workload, values), {{0, 1e-30}}));
  const te::Workload four = parsed("X: f32[4]; P[one:1] = prod(k) X[k]");
  const Reference reference = reference_of(four, {{f32(1e-30), f32(1e-30), f32(1e30), f32(1e30)}});
  EXPECT_TRUE(is_right(four, reference, {{0}})) << "in this order";
  EXPECT_TRUE(is_right(four, reference, {{1}})) << "in another";
  const te::Workload masked = parsed("X: f32[4]; Y[i] = exp(X[i] * 100)");
  EXPECT_TRUE(
      is_right(masked, reference_of(masked, {{2, -2, 0, 1}}), {{kUnknown, 0, 1, std::exp(100.0)}}));
}

// f64 holds what f32 does not: the largest of all would hide what the known ones are.
TEST(Judge, CountsOnlyWhatHasABound) {
  const te::Workload workload = parsed("X: f32[3]; Y[i] = exp(X[i] * 1000)");
  const Reference reference = reference_of(workload, {{0.5, -0.25, -0.5}});
  EXPECT_EQ(reference.bounds[0][0], kUnknown);
  EXPECT_TRUE(is_right(workload, reference, {{kUnknown, 0, 0}}));
  EXPECT_FALSE(is_right(workload, reference, {{kUnknown, 1e-30, 0}}));
}

TEST(Judge, AcceptsExponentialsOfAnySize) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const double scale = std::round(std::pow(10, 3.5 * rng.uniform()));
    const bool times = rng.chance(0.5), sum = rng.chance(0.5);
    const std::string text =
        fmt::format("X: f32[31,{}]; Y[i] = {} exp(X[i,k] * {}){}", sum ? 5 : 1,
                    sum ? "sum(k)" : "sum(k:1)", scale, times ? " * X[i,k]" : "");
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, text));
    const te::Workload workload = parsed(text);
    const auto values = random_inputs(workload, seed);
    const std::size_t terms = values[0].size() / 31;
    std::vector<double> got(31);
    for (std::size_t i = 0; i < got.size(); ++i) {
      float total = 0;
      for (std::size_t k = 0; k < terms; ++k) {
        const auto x = static_cast<float>(values[0][i * terms + k]);
        const float e = std::exp(x * static_cast<float>(scale));
        total += times ? e * x : e;
      }
      got[i] = total;
    }
    const Reference reference = reference_of(workload, values);
    EXPECT_TRUE(is_right(workload, reference, {got}));
    for (std::size_t i = 0; i < got.size(); ++i)
      if (reference.bounds[0][i] < 1e-3 * std::abs(reference.values[0][i])) {
        auto wrong = got;
        wrong[i] *= 1.01;
        EXPECT_FALSE(is_right(workload, reference, {wrong})) << i;
      }
  }
}

TEST(Judge, KeepsMasksWithInfinity) {
  const te::Workload workload = parsed(
      "X: f32[3,5]; S[i,j] = select(j <= i, X[i,j] * 0.5, -inf); M[i] = max(k) S[i,k]; E[i,j] = "
      "exp(S[i,j] - M[i])\n"
      "T[i] = sum(k) E[i,k]; Y[i,j] = E[i,j] / T[i]");
  const auto values = random_inputs(workload, 1);
  const Reference reference = reference_of(workload, values);
  for (const double bound : reference.bounds[0]) EXPECT_LT(bound, 1e-5);
  auto wrong = reference.values;
  EXPECT_TRUE(is_right(workload, reference, wrong));
  wrong[0][4] = 1e-3;
  EXPECT_FALSE(is_right(workload, reference, wrong));
}

// Cook-Toom algorithms round with the largest numbers that a tile of results reads.
TEST(Judge, LeavesRoomAroundAnElementWhereTilesOfResultsAreAllowed) {
  const std::string text =
      "X: f32[2,60]; const W: f32[3,2,3]; Y[o,x:60] = sum(c,r) X[c,x+r-1 else 0] * W[o,c,r]";
  std::vector<double> x(120, 0.5), w(18, 0);
  x[30] = 1 << 20;
  for (std::size_t o = 0; o < 3; ++o) w[6 * o + 2] = 1;  // one tap of one channel: Y[x] = X[0,x+1]
  const auto passes = [&](const std::string& level, std::size_t at, double off) {
    const te::Workload workload = parsed(text + level);
    const Reference reference = reference_of(workload, {x, w});
    auto got = reference.values;
    got[0][at] += off;
    return is_right(workload, reference, got);
  };
  // Y[29] reads the large element, with tiles of six Y[24] to Y[34] may be computed with it.
  for (const std::size_t near : {24U, 34U}) {
    EXPECT_TRUE(passes("", near, 0.1)) << near;
    EXPECT_FALSE(passes("", near, 100)) << near;
    EXPECT_FALSE(passes("; numerics componentwise", near, 1e-5)) << near;
  }
  for (const std::size_t far : {5U, 55U}) EXPECT_FALSE(passes("", far, 1e-3)) << far;
  EXPECT_TRUE(passes("", 24 + 60 * 2, 0.1)) << "another channel of results";
}

// Copies of what a window reads, in memory of their own, make no difference.
TEST(Judge, SeesNeighboursThroughCopies) {
  const te::Workload workload = parsed(
      "X: f32[2,62]; const W: f32[3,2,3]; T[c,x:60,r:3] = X[c,x+r]\n"
      "Y[o,x:60] = sum(c,r) T[c,x,r] * W[o,c,r]");
  std::vector<double> x(124, 0.5), w(18, 0);
  x[30] = 1 << 20;
  for (std::size_t o = 0; o < 3; ++o) w[6 * o + 2] = 1;
  const Reference reference = reference_of(workload, {x, w});
  EXPECT_GT(reference.bounds[0][25], 0.1);
  EXPECT_LT(reference.bounds[0][5], 1e-3);
}

struct Mistake {
  const char *right, *wrong;
};
const Mistake kMistakes[] = {
    // One term less.
    {"A: f32[5,1000]; B: f32[1000,5]; C[i,j] = sum(k) A[i,k] * B[k,j]",
     "A: f32[5,1000]; B: f32[1000,5]; C[i,j] = sum(k:999) A[i,k] * B[k,j]"},
    {"X: f32[5,20000]; Y[i] = sum(k) X[i,k]", "X: f32[5,20000]; Y[i] = sum(k:19999) X[i,k]"},
    {"X: f32[5,31]; Y[i] = prod(k) X[i,k]", "X: f32[5,31]; Y[i] = prod(k:30) X[i,k]"},
    // A neighbour.
    {"X: f32[100]; Y[i:99] = exp(X[i])", "X: f32[100]; Y[i:99] = exp(X[i+1])"},
    {"X: f16[100]; Y[i:99] = X[i] * 2", "X: f16[100]; Y[i:99] = X[i+1] * 2"},
    {"A: f32[50,9]; B: f32[9,6]; C[i:49,j] = sum(k) f64(A[i,k] * B[k,j])",
     "A: f32[50,9]; B: f32[9,6]; C[i:49,j] = sum(k) f64(A[i+1,k] * B[k,j])"},
    // A tap less at the border.
    {"X: f32[40]; w: f32[3]; Y[x:40] = sum(s) X[x+s-1 else 0] * w[s]",
     "X: f32[40]; w: f32[3]; Y[x:40] = sum(s) X[x+s-2 else 0] * w[s]"},
    {"X: f32[40]; w: f32[3]; Y[x:40] = sum(s) X[x+s-1 else 0] * w[s]",
     "X: f32[40]; w: f32[3]; Y[x:40] = sum(s:2) X[x+s-1 else 0] * w[s]"},
    // A term less of a long scan, another start, another direction.
    {"X: f32[5,700]; Y[i,t] = Y[i,t-1 else 0] + X[i,t]",
     "X: f32[5,700]; Y[i,t] = Y[i,t-1 else 0] + select(t == 650, 0, X[i,t])"},
    {"X: f32[5,700]; Y[t:5,i:700] = 0.9 * Y[t-1,i else 1] + X[t,i]",
     "X: f32[5,700]; Y[t:5,i:700] = 0.9 * Y[t-1,i else 0] + X[t,i]"},
    {"X: f32[90]; Y[t] = max(Y[t-1 else -inf], X[t])",
     "X: f32[90]; Y[t] = max(Y[t+1 else -inf], X[t])"},
    // Another condition, step, stage.
    {"X: f32[90]; Y[i] = i8(X[i] * 100)", "X: f32[90]; Y[i] = i8(X[i] * 100 + 0.5)"},
    {"X: f32[90]; Y[i] = select(X[i] * 2 > 0.5, X[i], 0)",
     "X: f32[90]; Y[i] = select(X[i] * 2 > 0.7, X[i], 0)"},
    {"X: f32[4,90]; S[i] = max(k) X[i,k]; Y[i,j] = exp(X[i,j] - S[i])",
     "X: f32[4,90]; S[i] = max(k:7) X[i,k]; Y[i,j] = exp(X[i,j] - S[i])"},
    {"X: f32[4,90]; Y[i,j] = X[i,j] / (sum(k) abs(X[i,k]))",
     "X: f32[4,90]; Y[i,j] = X[i,j] / (sum(k:89) abs(X[i,k]))"},
};

TEST(Judge, CatchesPlantedMistakes) {
  for (const Mistake& mistake : kMistakes) {
    SCOPED_TRACE(mistake.right);
    const te::Workload right = parsed(mistake.right), wrong = parsed(mistake.wrong);
    int caught = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const auto values = random_inputs(right, seed);
      const Reference reference = reference_of(right, values);
      const auto as_values = [](const std::vector<interp::Tensor>& tensors) {
        std::vector<std::vector<double>> out;
        for (const auto& tensor : tensors) out.push_back(tensor.values);
        return out;
      };
      EXPECT_TRUE(is_right(right, reference,
                           as_values(*interp::evaluate(right, as_inputs(right, values)))));
      caught +=
          is_right(right, reference, as_values(*interp::evaluate(wrong, as_inputs(wrong, values))))
              ? 0
              : 1;
    }
    EXPECT_EQ(caught, 10);
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
