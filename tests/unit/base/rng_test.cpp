#include "base/rng.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace lathe {
namespace {

// Runs on replayed measurements are deterministic to the byte: these values must never change.
TEST(Rng, StaysWhatItWas) {
  Rng rng(42);
  const std::vector<std::uint64_t> first{rng.next(), rng.next(), rng.next()};
  EXPECT_EQ(first, (std::vector<std::uint64_t>{1546998764402558742U, 6990951692964543102U,
                                               12544586762248559009U}));
  EXPECT_EQ(rng.below(1000), 924U);
  EXPECT_EQ(rng.between(-5, 5), 5);
  EXPECT_EQ(rng.uniform(), 0x1.8a1b4a6202f2ap-1);
  EXPECT_NEAR(rng.normal(), 0.93696242502589533, 1e-12);  // through the C library's log and cos
  EXPECT_EQ(rng.fork().next(), 2315423597042293463U);
}

TEST(Rng, BelowReachesAllAndOnlyItsValuesEvenly) {
  for (const std::uint64_t n : {1U, 2U, 3U, 7U, 64U, 97U}) {
    Rng rng(n);
    std::vector<int> counts(n, 0);
    const int draws = 20'000;
    for (int i = 0; i < draws; ++i) {
      const std::uint64_t value = rng.below(n);
      ASSERT_LT(value, n);
      ++counts[value];
    }
    const double expected = static_cast<double>(draws) / static_cast<double>(n);
    for (const int count : counts) EXPECT_NEAR(count, expected, 6 * std::sqrt(expected) + 1) << n;
  }
}

TEST(Rng, BelowIsUnbiasedWhereMultiplicationWouldNotBe) {
  const std::uint64_t n = 3ULL << 62;  // without rejection a third of the values would come twice
  Rng rng(5);
  int lowest_third = 0;
  const int draws = 30'000;
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t value = rng.below(n);
    ASSERT_LT(value, n);
    lowest_third += value % 3 == 0 ? 1 : 0;
  }
  EXPECT_NEAR(lowest_third, draws / 3, 500);
}

TEST(Rng, BetweenIncludesBothEnds) {
  Rng rng(7);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = rng.between(-3, 4);
    ASSERT_GE(value, -3);
    ASSERT_LE(value, 4);
    low |= value == -3;
    high |= value == 4;
  }
  EXPECT_TRUE(low && high);
  EXPECT_EQ(rng.between(9, 9), 9);
}

TEST(Rng, BetweenSpansTheWidestRanges) {
  Rng rng(8);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t value = rng.between(INT64_MIN, INT64_MAX);
    negative |= value < 0;
    positive |= value > 0;
    ASSERT_NE(rng.between(INT64_MIN, INT64_MAX - 1), INT64_MAX);
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Rng, UniformAndNormalHaveTheirMoments) {
  Rng rng(9);
  const int draws = 100'000;
  double sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    const double z = rng.normal();
    ASSERT_TRUE(std::isfinite(z));
    normal_sum += z;
    normal_squares += z * z;
  }
  EXPECT_NEAR(sum / draws, 0.5, 0.01);
  EXPECT_NEAR(normal_sum / draws, 0, 0.02);
  EXPECT_NEAR(normal_squares / draws, 1, 0.03);
}

TEST(Rng, RestoredStateGoesOnWithTheSameNumbers) {
  Rng rng(10);
  for (int i = 0; i < 5; ++i) rng.next();
  Rng other(999);
  other.restore(rng.state());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rng.next(), other.next());
}

TEST(Rng, ForksAndSeedsDiffer) {
  Rng rng(11);
  Rng a = rng.fork();
  Rng b = rng.fork();
  EXPECT_NE(a.next(), b.next());
  EXPECT_NE(Rng(0).next(), Rng(1).next());
}

TEST(Rng, ChanceTakesItsExtremes) {
  Rng rng(12);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(rng.chance(0));
    ASSERT_TRUE(rng.chance(1));
  }
}

}  // namespace
}  // namespace lathe
