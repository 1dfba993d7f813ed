#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "research/experiment/curve.h"

namespace lathe::experiment {
namespace {

const Curve kCurve = {{3, 0.1}, {3, 0.05}, {17, 1.0 / 30}};

TEST(Curve, TellsWhenItWasGoodEnough) {
  EXPECT_EQ(trials_to(kCurve, 0.01, 0.1), 3);
  EXPECT_EQ(trials_to(kCurve, 0.03, 0.9), 17);
  EXPECT_TRUE(std::isinf(trials_to(kCurve, 0.03, 0.95)));
  EXPECT_TRUE(std::isinf(trials_to({}, 1, 0.1)));
  EXPECT_TRUE(std::isinf(best_after(kCurve, 2)));
  EXPECT_EQ(best_after(kCurve, 16), 0.05);
  EXPECT_EQ(best_after(kCurve, 800), 1.0 / 30);
}

TEST(Curve, IsReadAsItWasWritten) {
  EXPECT_EQ(*parse_curve(text_of(kCurve)), kCurve);
  EXPECT_EQ(*parse_curve(""), Curve{});
  for (const char* wrong : {"3", "3:", ":0.1", "3:0.1,", "3:0.1 ", "3:0.1 2:0.05", "3:0.1 4:0.2",
                            "3:nan", "3:inf", "3:-1", "0:0.1", "x"}) {
    const auto curve = parse_curve(wrong);
    ASSERT_FALSE(curve) << wrong;
    EXPECT_EQ(curve.error().kind, ErrorKind::kDataLoss);
  }
}

}  // namespace
}  // namespace lathe::experiment
