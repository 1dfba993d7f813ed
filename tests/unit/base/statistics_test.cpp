#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"

namespace lathe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Quantile, InterpolatesAndSorts) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_EQ(quantile({7}, 0.25), 7);
  EXPECT_EQ(quantile({}, 0.5), kInfinity);
}

TEST(Quantile, KnowsInfinity) {
  EXPECT_EQ(quantile({kInfinity, 1, kInfinity}, 0.5), kInfinity);
  EXPECT_EQ(quantile({kInfinity, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({kInfinity, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({kInfinity, 1}, 0.5), kInfinity);
  EXPECT_EQ(quantile({kInfinity, kInfinity}, 0.25), kInfinity);
}

// Values of SciPy: mannwhitneyu(a, b, method="asymptotic").
TEST(ErrorOfMedian, IsThatOfManyMedians) {
  constexpr int kValues = 41, kMedians = 4000;
  constexpr double kHalfRange = 0.6745;  // of the normal distribution
  Rng rng(5);
  double squares = 0;
  for (int i = 0; i < kMedians; ++i) {
    std::vector<double> values;
    for (int k = 0; k < kValues; ++k) values.push_back(rng.normal());
    const double median = quantile(values, 0.5);
    squares += median * median;
  }
  const double seen = std::sqrt(squares / kMedians);
  EXPECT_NEAR(error_of_median(kHalfRange, kValues) / seen, 1, 0.1);
  EXPECT_GT(error_of_median(kHalfRange, 5), 1.86 * kHalfRange / std::sqrt(5.0)) << "few tell less";
  EXPECT_EQ(error_of_median(0, 1), 0);
}

TEST(MannWhitney, KnownValues) {
  EXPECT_NEAR(mann_whitney({1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16}), 0.0009391056,
              1e-9);
  EXPECT_NEAR(mann_whitney({1, 2, 2, 3, 5, 5, 5, 9}, {2, 3, 5, 6, 8, 9, 9, 10}), 0.0987272987,
              1e-9);
}

TEST(MannWhitney, InfinityIsTheLargestValueAndEqualGroupsDoNotDiffer) {
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(mann_whitney({1, 2, never, never}, {1, 2, never, never}), 1);
  EXPECT_EQ(mann_whitney({never, never}, {never, never}), 1);
  EXPECT_EQ(mann_whitney({}, {1}), 1);
  EXPECT_LT(mann_whitney({1, 2, 3, 4, 5, 6, 7, 8}, std::vector<double>(8, never)), 0.001);
}

}  // namespace
}  // namespace lathe
