#include "base/result.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(Result, EveryKindHasANameThatComesBack) {
  for (int i = 0; i <= static_cast<int>(ErrorKind::kInternal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    EXPECT_EQ(error_kind_from_name(name_of(kind)), kind) << i;
  }
  EXPECT_EQ(error_kind_from_name("of a later version"), ErrorKind::kInternal);
}

TEST(Result, TextLeadsWithThePlace) {
  const Result<int> at = fail_at("step 3", ErrorKind::kIllegalSchedule, "no axis {}", "k");
  EXPECT_EQ(at.error().text(), "step 3: no axis k");
  const Result<int> nowhere = fail(ErrorKind::kIo, "full");
  EXPECT_EQ(nowhere.error().text(), "full");
}

Result<std::unique_ptr<int>> half(int value) {
  if (value % 2 != 0) return fail(ErrorKind::kInvalidArgument, "{} is odd", value);
  return std::make_unique<int>(value / 2);
}
Status even(int value) {
  LATHE_TRY(half(value));
  return {};
}
Result<int> quarter(int value) {
  const auto first = LATHE_TRY(half(value));
  LATHE_TRY_STATUS(even(*first));
  return *LATHE_TRY(half(*first));
}

TEST(Result, TryYieldsTheValueOrReturnsTheError) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(7).error().message, "7 is odd");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(Result, BrokenInvariantSaysWhereAndWhat) {
  const int loops = 3;
  EXPECT_NO_THROW(LATHE_CHECK(loops == 3));
  try {
    LATHE_CHECK(loops == 4, "{} loops", loops);
    FAIL() << "the check passed";
  } catch (const InvariantError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("result_test.cpp"), std::string::npos) << what;
    EXPECT_NE(what.find("loops == 4: 3 loops"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace lathe
