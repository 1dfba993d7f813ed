#include "runtime/runner/guarded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace lathe::runner {
namespace {

TEST(GuardedBuffer, ReadsAsNanAndIsAligned) {
  GuardedBuffer buffer;
  for (const std::int64_t bytes : {4, 60, 64, 4096, 4100, 100'000, 3 << 20, 12}) {
    ASSERT_TRUE(buffer.resize("x", bytes).has_value());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    buffer.fill_nan();
    float last = 0;
    std::memcpy(&last, buffer.data() + bytes - 4, 4);
    EXPECT_TRUE(std::isnan(last));
    EXPECT_FALSE(buffer.damage().has_value());
  }
}

TEST(GuardedBuffer, LiesBeforeItsEndByAShift) {
  GuardedBuffer buffer;
  const auto place = [&] { return reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096; };
  ASSERT_TRUE(buffer.resize("x", 8192, 4080));
  EXPECT_EQ(place(), 16U) << "as malloc gives it";
  buffer.fill_nan();
  std::memset(buffer.data(), 0, 8192);
  EXPECT_FALSE(buffer.damage());
  buffer.data()[8192 + 4079] = std::byte{0};
  EXPECT_EQ(buffer.damage(), "it wrote after the end of x");
  ASSERT_TRUE(buffer.resize("x", 8192));
  EXPECT_EQ(place(), 0U);
}

TEST(GuardedBuffer, NoticesWritesIntoTheSlack) {
  GuardedBuffer buffer;
  ASSERT_TRUE(buffer.resize("output C", 100).has_value());
  buffer.fill_nan();
  buffer.data()[100] = std::byte{0};
  EXPECT_EQ(buffer.damage(), "it wrote after the end of output C");
  buffer.fill_nan();
  buffer.data()[-1] = std::byte{0};
  EXPECT_EQ(buffer.damage(), "it wrote before the start of output C");
}

TEST(GuardedBuffer, KnowsWhereAnAddressLies) {
  GuardedBuffer buffer;
  ASSERT_TRUE(buffer.resize("input A", 128).has_value());
  const auto after = find_region(buffer.data() + 130);
  ASSERT_TRUE(after.has_value());
  EXPECT_STREQ(after->name, "input A");
  EXPECT_EQ(after->side, 3);
  EXPECT_EQ(after->distance, 2);
  EXPECT_EQ(find_region(buffer.data() - 8)->side, 1);
  EXPECT_EQ(find_region(buffer.data() + 8)->side, 2);
  int elsewhere = 0;
  EXPECT_FALSE(find_region(&elsewhere).has_value());
  const auto* gone = buffer.data();
  buffer = GuardedBuffer();
  EXPECT_EQ(buffer.data(), nullptr);
  (void)gone;
}

TEST(GuardedBufferDeathTest, PagesAroundItHaveNoAccess) {
  GuardedBuffer buffer;
  ASSERT_TRUE(buffer.resize("x", 8192).has_value());
  ASSERT_TRUE(buffer.resize("x", 4096).has_value());  // keeps the memory, moves the guard
  EXPECT_DEATH(buffer.data()[4096] = std::byte{1}, "");
  EXPECT_DEATH(buffer.data()[-1] = std::byte{1}, "");
  buffer.fill_nan();
  ASSERT_TRUE(buffer.set_writable(false).has_value());
  EXPECT_DEATH(buffer.data()[0] = std::byte{1}, "");
}

// As around a caller's tensor, where programs are timed; until the buffer is another one.
TEST(GuardedBufferDeathTest, PagesAroundItAreOpenOnDemand) {
  GuardedBuffer buffer;
  for (const std::int64_t bytes : {std::int64_t{4096}, std::int64_t{100}, std::int64_t{9000}}) {
    ASSERT_TRUE(buffer.resize("C", bytes));
    const std::int64_t end = (bytes + 63) / 64 * 64;
    const auto touch = [&](std::int64_t at) { buffer.data()[at] = std::byte{1}; };
    EXPECT_DEATH(touch(end), "");
    ASSERT_TRUE(buffer.set_guarded(false));
    touch(end);
    touch(end + 4095);
    touch(-1);
    ASSERT_TRUE(buffer.set_guarded(true));
    EXPECT_DEATH(touch(end), "");
    ASSERT_TRUE(buffer.set_guarded(false));
  }
}

TEST(GuardedBuffer, TooMuchIsAnError) {
  GuardedBuffer buffer;
  const auto status = buffer.resize("workspace", std::int64_t{1} << 50);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, ErrorKind::kOutOfMemory);
}

}  // namespace
}  // namespace lathe::runner
