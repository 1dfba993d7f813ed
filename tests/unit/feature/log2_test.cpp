#include "tuner/feature/log2.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace lathe::feature {
namespace {

TEST(Log2, ExactForPowersOfTwo) {
  for (int e = -100; e <= 100; ++e) EXPECT_EQ(log2_of(std::ldexp(1.0F, e)), static_cast<float>(e));
}

TEST(Log2, CloseToTheLibrary) {
  Rng rng(3);
  for (int i = 0; i < 100'000; ++i) {
    const float x = static_cast<float>(std::exp((rng.uniform() - 0.5) * 80));
    const double expected = std::log2(static_cast<double>(x));
    ASSERT_NEAR(log2_of(x), expected, 2e-7 * (1 + std::abs(expected))) << x;
  }
}

TEST(Log2, Rises) {
  float last = log2_of(0.9F);
  for (float x = 0.9F; x < 3; x += 1e-5F) {
    const float y = log2_of(x);
    ASSERT_GE(y, last - 1.2e-7F * 2) << x;
    last = y;
  }
}

}  // namespace
}  // namespace lathe::feature
