#include "base/helper_path.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(FindHelper, NamesThePlacesItLooked) {
  const auto path = find_helper("lathe-no-such-program");
  ASSERT_FALSE(path.has_value());
  EXPECT_EQ(path.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(path.error().message.find("LATHE_LIBEXEC"), std::string::npos);
}

TEST(FindHelper, LooksBesideTheProgram) {
  const auto path = find_helper("base_test");
  ASSERT_TRUE(path.has_value()) << path.error().text();
  EXPECT_TRUE(path->ends_with("/base_test"));
}

}  // namespace
}  // namespace lathe
