#include "runtime/pool/pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "unit/runtime/children.h"

namespace lathe::pool {
namespace {

// A pool with threads of its own, however few processors there are.
Options own(int threads) { return {.threads = threads, .spin_ns = 50'000}; }

struct Loop {
  std::vector<int> visits;  // a slot an iteration, each written by one worker only
  std::vector<std::int64_t> worker;
};

void visit(void* context, std::int64_t begin, std::int64_t end, std::int64_t worker) {
  auto& loop = *static_cast<Loop*>(context);
  for (std::int64_t i = begin; i < end; ++i) {
    ++loop.visits[i];
    loop.worker[i] = worker;
  }
}

Loop run(Pool& pool, std::int64_t count) {
  Loop loop{std::vector<int>(count, 0), std::vector<std::int64_t>(count, -1)};
  const lathe_runtime* runtime = pool.runtime();
  const lathe_phase phase{visit, count};
  runtime->run_region(runtime->self, &phase, 1, &loop);
  return loop;
}

void expect_once(const Loop& loop, int threads) {
  for (std::size_t i = 0; i < loop.visits.size(); ++i) {
    ASSERT_EQ(loop.visits[i], 1) << i;
    ASSERT_LT(loop.worker[i], threads);
  }
}

TEST(Pool, EveryIterationRunsOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    Pool pool(own(threads));
    EXPECT_EQ(pool.threads_now(), threads);
    for (const std::int64_t count : {0, 1, 2, 3, 6, 7, 8, 101, 1000})
      expect_once(run(pool, count), threads);
  }
}

TEST(Pool, AForkedChildStartsThreadsOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer ends a forked child that starts a thread";
#endif
  for (const int threads : {2, 3}) {
    Pool pool(own(threads));
    expect_once(run(pool, 100), threads);
    const auto works = [&] {
      const Loop loop = run(pool, 100);
      return std::ranges::count(loop.visits, 1) == 100 && pool.threads_now() == threads;
    };
    EXPECT_EQ(in_a_child([&] { return works() && works() && in_a_child(works) == 0 && works(); }),
              0);
    expect_once(run(pool, 100), threads);
  }
}

TEST(Pool, ManyShortLoops) {
  Pool pool(own(2));
  std::int64_t total = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::atomic<std::int64_t> sum{0};
    pool.parallel_for(
        5,
        [](void* context, std::int64_t begin, std::int64_t end, std::int64_t) {
          *static_cast<std::atomic<std::int64_t>*>(context) += end - begin;
        },
        &sum);
    total += sum;
  }
  EXPECT_EQ(total, 25'000);
}

TEST(Pool, WakesSleepingWorkers) {
  for (const std::int64_t spin_ns : {0, 1'000}) {
    Pool pool({.threads = 3, .spin_ns = spin_ns});
    for (int i = 0; i < 200; ++i) {
      if (i % 20 == 0) ::usleep(2'000);  // past the spinning: workers sleep
      expect_once(run(pool, 31), 3);
    }
  }
}

TEST(Pool, PlainDataNeedsNoLocks) {
  // What one loop writes the next may read from other workers: the pool orders them (the thread
  // sanitizer checks).
  Pool pool(own(4));
  std::vector<double> data(1003, 1);
  for (int round = 0; round < 50; ++round)
    pool.parallel_for(
        static_cast<std::int64_t>(data.size()),
        [](void* context, std::int64_t begin, std::int64_t end, std::int64_t) {
          auto& d = *static_cast<std::vector<double>*>(context);
          for (std::int64_t i = begin; i < end; ++i) d[i] += 1;
        },
        &data);
  for (const double value : data) ASSERT_EQ(value, 51);
}

// Phase p turns round p of all numbers into round p + 1: each from those of its neighbours, which
// other threads computed in the phase before.
struct Rounds {
  static constexpr std::int64_t kWidth = 37;
  std::vector<std::vector<std::int64_t>> numbers;

  static void step(void* context, std::int64_t begin, std::int64_t end, std::int64_t) {
    auto& rounds = *static_cast<Rounds*>(context);
    // All iterations of a phase see as many finished rounds, for none begins before.
    for (std::int64_t i = begin; i < end; ++i) {
      std::size_t p = 0;
      while (rounds.numbers[p + 1][i] >= 0) ++p;
      const auto& from = rounds.numbers[p];
      rounds.numbers[p + 1][i] = (from[(i + 1) % kWidth] + from[(i + kWidth - 1) % kWidth]) % 1009;
    }
  }
};

Rounds rounds_of(Pool& pool, std::size_t phases) {
  Rounds rounds;
  rounds.numbers.assign(phases + 1, std::vector<std::int64_t>(Rounds::kWidth, -1));
  for (std::int64_t i = 0; i < Rounds::kWidth; ++i) rounds.numbers[0][i] = i * i % 101;
  const std::vector<lathe_phase> list(phases, lathe_phase{Rounds::step, Rounds::kWidth});
  pool.run_region(list.data(), static_cast<std::int64_t>(list.size()), &rounds);
  return rounds;
}

TEST(Pool, APhaseSeesAllOfThePhaseBefore) {
  Pool alone({.threads = 1});
  for (const int threads : {2, 3, 5})
    for (const std::int64_t spin_ns : {0, 1'000, 50'000}) {
      Pool pool({.threads = threads, .spin_ns = spin_ns});
      for (const std::size_t phases : {1, 2, 3, 20})
        ASSERT_EQ(rounds_of(pool, phases).numbers, rounds_of(alone, phases).numbers);
    }
}

TEST(Pool, PhasesMayHaveOneIterationOrNone) {
  for (const int threads : {1, 2, 3}) {
    Pool pool(own(threads));
    for (const std::vector<std::int64_t>& counts :
         {std::vector<std::int64_t>{0}, {1, 1}, {5, 0, 1, 7}, {0, 9}, {1, 2, 0}, {}}) {
      std::atomic<std::int64_t> sum{0};
      std::vector<lathe_phase> phases;
      std::int64_t all = 0;
      for (const std::int64_t count : counts) {
        all += count;
        phases.push_back({[](void* context, std::int64_t begin, std::int64_t end, std::int64_t) {
                            *static_cast<std::atomic<std::int64_t>*>(context) += end - begin;
                          },
                          count});
      }
      pool.run_region(phases.data(), static_cast<std::int64_t>(phases.size()), &sum);
      EXPECT_EQ(sum, all);
    }
  }
}

TEST(Pool, AForkedChildCrossesBarriers) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer ends a forked child that starts a thread";
#endif
  Pool alone({.threads = 1}), pool(own(3));
  const auto wanted = rounds_of(alone, 6).numbers;
  const auto works = [&] { return rounds_of(pool, 6).numbers == wanted; };
  EXPECT_TRUE(works());
  EXPECT_EQ(in_a_child([&] { return works() && works(); }), 0);
  EXPECT_TRUE(works());
}

// Regions of all lengths one upon the other, with pauses of all lengths in which workers sleep,
// wake up, or come too late for a region whose slices the caller took.
TEST(Pool, WorkersMayComeLate) {
  Pool alone({.threads = 1});
  std::vector<Rounds> wanted;
  for (std::size_t phases = 0; phases < 6; ++phases) wanted.push_back(rounds_of(alone, phases + 1));
  for (const int threads : {2, 6})
    for (const std::int64_t spin_ns : {0, 500, 50'000}) {
      Pool pool({.threads = threads, .spin_ns = spin_ns});
      for (unsigned i = 0; i < 600; ++i) {
        const std::size_t phases = i * 7919U % 6;
        if (i % 11 == 0) ::usleep(i % 3 * 60);
        ASSERT_EQ(rounds_of(pool, phases + 1).numbers, wanted[phases].numbers) << i;
      }
    }
}

// A caller that wanders from processor to processor takes its workers' places.
TEST(Pool, TheCallerMayMove) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  Pool pool({.threads = 2, .spin_ns = 1'000});
  for (int i = 0; i < 100; ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    int cpu = i % 2 == 0 ? 0 : CPU_SETSIZE - 1;  // the first and the last that are allowed
    while (!CPU_ISSET(cpu, &before)) cpu += i % 2 == 0 ? 1 : -1;
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    if (i % 5 == 0) ::usleep(200);
    expect_once(run(pool, 31), 2);
  }
  sched_setaffinity(0, sizeof before, &before);
}

// As `taskset -a -p` does it.
TEST(Pool, StaysWhereTheProcessIsConfined) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "there is one processor only";
  const auto confine = [](const cpu_set_t& set) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
      sched_setaffinity(std::stoi(task.path().filename()), sizeof set, &set);
  };
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    Pool pool(own(3));
    expect_once(run(pool, 31), 3);
    ::usleep(1'000);
    expect_once(run(pool, 31), 3);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    confine(one);
    for (int i = 0; i < 20; ++i) {
      expect_once(run(pool, 31), 3);
      if (i % 4 == 0) ::usleep(500);
    }
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      cpu_set_t set;
      ASSERT_EQ(sched_getaffinity(std::stoi(task.path().filename()), sizeof set, &set), 0);
      EXPECT_TRUE(CPU_EQUAL(&set, &one)) << task.path() << " left processor " << cpu;
    }
    confine(before);
  }
}

TEST(Pool, StartsAndStopsOften) {
  for (int i = 0; i < 100; ++i) {
    Pool pool(own(4));
    if (i % 2 == 0) expect_once(run(pool, 9), 4);
  }
}

}  // namespace
}  // namespace lathe::pool
