// What the judge accepts: every program that computes in its own types and whatever order, and no
// other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/interp/scalar.h"
#include "compiler/te/parse.h"
#include "tuner/measure/inputs.h"
#include "tuner/measure/reference.h"
#include "unit/measure/judged.h"

namespace lathe::measure {
namespace {

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

}  // namespace
}  // namespace lathe::measure
