#include "runtime/runner/check.h"

#include <gtest/gtest.h>

#include <limits>

namespace lathe::runner {
namespace {

Loaded check(std::vector<float> got, std::vector<double> want, std::vector<double> bound,
             double max_error = 1e-3) {
  Loaded result;
  const Comparison comparison{Dtype::kF32, got.data(), want, bound};
  compare(std::span(&comparison, 1), max_error, result);
  return result;
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Check, AcceptsWhatIsWithinItsBound) {
  const Loaded result = check({1, 2.001F, -3}, {1, 2, -3}, {0, 0.002, 0});
  EXPECT_FALSE(result.wrong);
  EXPECT_NEAR(result.max_error, 0.001 / 3, 1e-6);
}

TEST(Check, NamesTheElementFurthestBeyondItsBound) {
  const Loaded result = check({1, 2.01F, -3.5F}, {1, 2, -3}, {0, 0, 0.1}, 1);
  EXPECT_TRUE(result.wrong);
  EXPECT_EQ(result.index, 2);
  EXPECT_EQ(result.want, -3);
  EXPECT_EQ(result.got, -3.5);
  EXPECT_EQ(result.bound, 0.1);
}

TEST(Check, TheWholeMustBeWithinMaxErrorOfTheLargest) {
  const Loaded result = check({1.5F, 100}, {1, 100}, {1, 1}, 1e-3);
  EXPECT_TRUE(result.wrong);
  EXPECT_EQ(result.index, 0);
}

TEST(Check, NanNeverPassesForANumber) {
  EXPECT_TRUE(check({static_cast<float>(kNan)}, {1}, {100}, 1000).wrong);
  EXPECT_TRUE(check({static_cast<float>(kInf)}, {1}, {100}, 1000).wrong);
  EXPECT_TRUE(check({1}, {kNan}, {100}, 1000).wrong);
  EXPECT_FALSE(check({static_cast<float>(kNan)}, {kNan}, {0}).wrong);
  EXPECT_FALSE(check({static_cast<float>(kInf), 1}, {kInf, 1}, {0, 0}).wrong);
  EXPECT_TRUE(check({static_cast<float>(-kInf)}, {kInf}, {0}).wrong);
}

TEST(Check, WhereNothingIsKnownAnythingPasses) {
  EXPECT_FALSE(check({static_cast<float>(kNan), 7, 1}, {1, 2, 1}, {kInf, kInf, 0}, 0).wrong);
  const Loaded result = check({100, 3}, {1, 2}, {kInf, 0.1}, 1e9);
  EXPECT_TRUE(result.wrong);
  EXPECT_EQ(result.index, 1);
  EXPECT_EQ(result.max_error, 0.5) << "the first does not count";
}

TEST(Check, TheLargestIsOneOfThoseThatAreKnown) {
  const auto largest = [](std::vector<double> want, std::vector<double> bound) {
    return largest_of(want, bound);
  };
  EXPECT_EQ(largest({1, -3, 1e300}, {0, 0.1, kInf}), 3);
  EXPECT_EQ(largest({1, kInf, kNan, -kInf}, {0, 0, 0, 0}), 1);
  EXPECT_EQ(largest({1, 2}, {kInf, kInf}), 0);
  EXPECT_EQ(largest({}, {}), 0);
  // An error is beside the same number.
  EXPECT_EQ(check({1, 4, 7}, {1, 3, 1e300}, {0, 5, kInf}, 1).max_error, 1.0 / 3);
}

TEST(Check, AllZerosAreRightWhereZerosAreWanted) {
  EXPECT_FALSE(check({0, 0}, {0, 0}, {0, 0}).wrong);
  EXPECT_TRUE(check({0, 1e-30F}, {0, 0}, {0, 0}).wrong);
}

}  // namespace
}  // namespace lathe::runner
