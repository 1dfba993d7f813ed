#include "tuner/model/columns.h"

#include <gtest/gtest.h>

namespace lathe::model {
namespace {

TEST(Columns, ConstantAndRepeatedOnesGo) {
  // constant, varies, repeats the second, varies, negated second
  const std::vector<float> features = {5, 1, 1, 0, -1,  //
                                       5, 2, 2, 0, -2,  //
                                       5, 3, 3, 1, -3};
  const std::vector<int> columns = informative_columns(features, 3, 5);
  EXPECT_EQ(columns, (std::vector<int>{1, 3, 4}));
  EXPECT_EQ(select_columns(features, 3, 5, columns),
            (std::vector<float>{1, 0, -1, 2, 0, -2, 3, 1, -3}));
}

TEST(Columns, OneIsLeft) {
  EXPECT_EQ(informative_columns(std::vector<float>{1, 2, 1, 2}, 2, 2), std::vector<int>{0});
  EXPECT_EQ(informative_columns(std::vector<float>{1, 2}, 1, 2), std::vector<int>{0});
}

}  // namespace
}  // namespace lathe::model
