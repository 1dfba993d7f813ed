// Some of a reference, computed without the compiler.
#include "tuner/measure/reference_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "compiler/interp/te_elements.h"
#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "support/random_workload.h"
#include "tuner/measure/inputs.h"

namespace lathe::measure {
namespace {

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

TEST(ElementsToCheck, AreCornersBordersAndOthers) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1}, {7}, {300}, {100'003}, {13, 17}, {1, 512, 56, 57}, {3, 1, 211}, {2, 2, 2, 2, 2, 2}};
  for (const auto& shape : shapes) {
    const auto offsets = elements_to_check(shape, 1);
    const std::int64_t elements = count_of(shape);
    const std::set<std::int64_t> different(offsets.begin(), offsets.end());
    EXPECT_GE(static_cast<std::int64_t>(different.size()), std::min(kCheckedElements, elements))
        << fmt::format("{}", fmt::join(shape, ","));
    EXPECT_TRUE(different.contains(0));
    EXPECT_TRUE(different.contains(elements - 1));
    EXPECT_TRUE(different.contains(shape.back() - 1));
    EXPECT_GE(*different.begin(), 0);
    EXPECT_LT(*different.rbegin(), elements);
    EXPECT_LE(offsets.size(), 700U);
    EXPECT_EQ(offsets, elements_to_check(shape, 1));
  }
  EXPECT_NE(elements_to_check({1000, 1000}, 1), elements_to_check({1000, 1000}, 2));
}

Reference evaluated(const te::Workload& workload, const std::vector<std::vector<double>>& values) {
  std::vector<interp::Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(workload.inputs()[i])];
    inputs.push_back({tensor.dtype, tensor.shape, values[i], {}});
  }
  Reference out;
  const auto results = interp::evaluate(workload, inputs);
  LATHE_CHECK(results.has_value());
  for (const auto& result : *results) {
    out.values.push_back(result.values);
    out.bounds.push_back(result.bounds);
  }
  return out;
}

// Element by element what evaluate() computes at once, bounds included.
TEST(Elements, AreThoseOfTheWholeProgram) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Rng rng(seed);
    const te::Workload workload = random_workload(
        rng, {.dtypes = seed % 2 == 0, .max_iterations = 2'000, .recurrences = 0.15});
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, te::print_workload(workload)));
    const auto values = random_inputs(workload, seed);
    const Reference want = evaluated(workload, values);
    for (std::size_t o = 0; o < want.values.size(); ++o) {
      interp::Elements elements(workload, {values.begin(), values.end()}, 10'000'000);
      for (std::size_t i = want.values[o].size(); i-- > 0;) {
        const auto got = elements.at(workload.outputs()[o], static_cast<std::int64_t>(i));
        ASSERT_TRUE(got.has_value());
        ASSERT_TRUE(got->value == want.values[o][i] ||
                    (got->value != got->value && want.values[o][i] != want.values[o][i]));
        ASSERT_EQ(got->bound, want.bounds[o][i]);
      }
    }
    EXPECT_EQ(check_reference(workload, values, want, seed), std::nullopt);
  }
}

TEST(Elements, TakeOnlyWhatTheyNeed) {
  const auto workload = te::parse_workload(
      "A: f32[999,501]; B: f32[501,800]; C: f32[800,703]; D[i,j] = sum(k) A[i,k] * B[k,j]; E[i,j] "
      "= sum(k) D[i,k] * C[k,j]");
  const auto values = random_inputs(*workload, 1);
  interp::Elements elements(*workload, {values.begin(), values.end()}, 10'000'000);
  ASSERT_TRUE(elements.at(workload->outputs()[0], 5).has_value());
  EXPECT_EQ(elements.terms(), 800 + 800 * 501);
  ASSERT_TRUE(elements.at(workload->outputs()[0], 6).has_value());
  EXPECT_EQ(elements.terms(), 2 * 800 + 800 * 501) << "the row is remembered";
  interp::Elements few(*workload, {values.begin(), values.end()}, 100'000);
  EXPECT_FALSE(few.at(workload->outputs()[0], 5).has_value());
}

// One element of ten million terms, and one that needs a stage as long.
TEST(CheckReference, LongSums) {
  for (const char* text :
       {"X: f32[10000000]; S[one:1] = sum(i) X[i] * X[i]",
        "X: f32[3000000]; S[one:1] = sum(i) exp(X[i]); Y[i] = exp(X[i]) / S[0]"}) {
    const auto workload = te::parse_workload(text);
    ASSERT_TRUE(workload.has_value()) << workload.error().text();
    const auto values = random_inputs(*workload, 1);
    Reference reference = evaluated(*workload, values);
    EXPECT_EQ(check_reference(*workload, values, reference, 1), std::nullopt);
    reference.values[0][0] *= 1.01;
    EXPECT_NE(check_reference(*workload, values, reference, 1), std::nullopt);
  }
}

// 256 elements are compared also where a second is over before.
TEST(CheckReference, ManyElementsThatAreLongSums) {
  const auto workload =
      te::parse_workload("A: f32[130000]; B: f32[300]; Y[i] = sum(k) A[k] * B[i]");
  ASSERT_TRUE(workload.has_value()) << workload.error().text();
  const auto values = random_inputs(*workload, 1);
  Reference reference{{std::vector<double>(300)}, {std::vector<double>(300, 1)}};
  double sum = 0;
  for (const double value : values[0]) sum += value;
  for (std::size_t i = 0; i < 300; ++i) reference.values[0][i] = sum * values[1][i];
  const auto checked = elements_to_check({300}, 1);
  ASSERT_GE(checked.size(), 256U);
  reference.values[0][static_cast<std::size_t>(checked[255])] += 10;
  const auto found = check_reference(*workload, values, reference, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->index, checked[255]);
}

TEST(CheckReference, FindsWhatIsWrongEverywhereAtABorderOrInTheBounds) {
  const auto workload = te::parse_workload(
      "A: f32[40,50]; B: f32[40,60]; C[i,j] = sum(k) A[k,i] * B[k,j]; D[i,j] = relu(C[i,j])");
  const auto values = random_inputs(*workload, 1);
  const Reference right = evaluated(*workload, values);
  EXPECT_EQ(check_reference(*workload, values, right, 1), std::nullopt);
  Reference last_row = right, blind = right, shifted = right;
  for (int j = 0; j < 60; ++j) last_row.values[0][49 * 60 + j] += 1e-3;
  const auto found = check_reference(*workload, values, last_row, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->index / 60, 49);
  EXPECT_FALSE(found->blind);
  std::ranges::rotate(shifted.values[0], shifted.values[0].begin() + 1);
  EXPECT_TRUE(check_reference(*workload, values, shifted, 1).has_value());
  for (double& bound : blind.bounds[0]) bound = std::numeric_limits<double>::infinity();
  const auto unbounded = check_reference(*workload, values, blind, 1);
  ASSERT_TRUE(unbounded.has_value());
  EXPECT_TRUE(unbounded->blind);
}

TEST(CheckReference, LetsSumsBeInfinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto workload = te::parse_workload("X: f32[8]; Y[i:1] = sum(k:9) X[k else inf]");
  const auto values = random_inputs(*workload, 1);
  EXPECT_EQ(check_reference(*workload, values, {{{kInfinity}}, {{kInfinity}}}, 1), std::nullopt);
  EXPECT_TRUE(check_reference(*workload, values, {{{1.0}}, {{kInfinity}}}, 1).has_value());
}

}  // namespace
}  // namespace lathe::measure
