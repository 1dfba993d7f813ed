#include "runtime/runner/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace lathe::runner {
namespace {

// Sleeping is what a thread without its processor does.
TEST(LostTime, OfALoneThreadIsWhatItDidNotRun) {
  LostTime lost(1);
  lost.start();
  const double start = now_seconds();
  ::usleep(20'000);
  const double wall = now_seconds() - start;
  EXPECT_GT(lost.since(wall), 0.015);
  EXPECT_LE(lost.since(wall), wall);
  EXPECT_TRUE(LostTime::matters(lost.since(wall), wall));
}

// Threads of a program wait for each other: that they sleep is no disturbance.
TEST(LostTime, OfSeveralThreadsIsNotWhatTheyWait) {
  LostTime lost(2);
  if (::access("/proc/self/schedstat", R_OK) != 0) GTEST_SKIP() << "the system does not tell";
  lost.start();
  ::usleep(200'000);
  EXPECT_LT(lost.since(0.2), 0.2);
}

TEST(LostTime, SmallLossesDoNotMatter) {
  EXPECT_FALSE(LostTime::matters(0, 1e-4));
  EXPECT_FALSE(LostTime::matters(1e-6, 1e-5)) << "an interrupt";
  EXPECT_FALSE(LostTime::matters(0.01, 1));
  EXPECT_TRUE(LostTime::matters(4e-3, 5.45e-3)) << "5.45 ms of wall, 1.46 of processor time";
}

TEST(Sentinel, TakesSomeTime) {
  Sentinel sentinel;
  EXPECT_GT(sentinel.run(), 0);
}

}  // namespace
}  // namespace lathe::runner
