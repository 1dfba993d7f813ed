#include "base/log.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(Log, IsSilentUnlessAskedFor) {
  testing::internal::CaptureStderr();
  log(LogLevel::kError, "{}", "nobody asked");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(log_enabled(LogLevel::kError));
}

}  // namespace
}  // namespace lathe
