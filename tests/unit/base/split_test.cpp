#include "base/split.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

using Parts = std::vector<std::string>;

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,bc,d", ','), (Parts{"a", "bc", "d"}));
  EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(split(",a,", ','), (Parts{"", "a", ""}));
  EXPECT_EQ(split(",", ','), (Parts{"", ""}));
  EXPECT_EQ(split("", ','), (Parts{""}));
}

TEST(Split, CutsAtTheSeparatorOnly) {
  EXPECT_EQ(split("a,b;c d", ';'), (Parts{"a,b", "c d"}));
  EXPECT_EQ(split("abc", ','), (Parts{"abc"}));
}

}  // namespace
}  // namespace lathe
