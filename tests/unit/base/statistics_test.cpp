#include "base/statistics.h"

#include <gtest/gtest.h>

#include <limits>

namespace lathe {
namespace {

TEST(Quantile, InterpolatesAndSorts) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_EQ(quantile({7}, 0.25), 7);
  EXPECT_EQ(quantile({}, 0.5), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace lathe
