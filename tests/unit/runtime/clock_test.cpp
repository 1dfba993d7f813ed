#include "runtime/runner/clock.h"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace lathe::runner {
namespace {

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

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

// A thread that has waited since before start() is told of it at the end of that wait: without care
// all of a short stretch would be lost, though threads have worked meanwhile.
TEST(LostTime, LeavesWhatTheThreadsHaveWorked) {
  std::atomic<bool> stop{false};
  const auto spin = [&] {
    while (!stop.load()) continue;
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < 6; ++i) workers.emplace_back(spin);
  LostTime lost(static_cast<int>(workers.size()) + 1);
  for (int i = 0; i < 300; ++i) {
    const double start = now_seconds();
    lost.start();
    const double before = processor_seconds();
    ::usleep(static_cast<useconds_t>(37 * i % 900));
    const double worked = processor_seconds() - before;
    const double wall = now_seconds() - start;
    const auto threads = static_cast<double>(workers.size() + 1);
    EXPECT_GE(wall - lost.since(wall), std::min(wall, worked / threads) - 1e-9);
  }
  stop = true;
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
