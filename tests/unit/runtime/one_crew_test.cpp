// Several copies of the pool's code in one process, as exported libraries have them.
#include "runtime/pool/one_crew.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/pool/pool.h"
#include "unit/runtime/children.h"

namespace lathe::pool {
namespace {

using RunPhases = void(const lathe_phase*, long, void*, int);

struct Library {
  explicit Library(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle != nullptr) run = reinterpret_cast<RunPhases*>(dlsym(handle, "run_phases"));
  }
  ~Library() { close(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void close() {
    if (handle != nullptr) dlclose(handle);
    handle = nullptr;
  }
  void* handle;
  RunPhases* run = nullptr;
};

std::size_t threads_here() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    static_cast<void>(task);
    ++count;
  }
  return count;
}

int processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::size_t most_threads() {
#if defined(__SANITIZE_THREAD__)
  return static_cast<std::size_t>(processors()) + 1;  // the sanitizer's own
#else
  return static_cast<std::size_t>(processors());
#endif
}

struct Count {
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> most_worker{0};
  static void body(void* context, std::int64_t begin, std::int64_t end, std::int64_t worker) {
    auto& count = *static_cast<Count*>(context);
    count.sum += end - begin;
    int seen = count.most_worker;
    while (seen < worker &&
           !count.most_worker.compare_exchange_weak(seen, static_cast<int>(worker)));
  }
};

template <class Run>
void expect_all(const Run& run, int threads) {
  for (int i = 0; i < 50; ++i) {
    Count count;
    const lathe_phase phases[] = {{Count::body, 100}, {Count::body, 3}};
    run(phases, 2, &count, threads);
    ASSERT_EQ(count.sum, 103);
    ASSERT_LT(count.most_worker, threads);
  }
}

void run_here(const lathe_phase* phases, long count, void* context, int threads) {
  Pool({.threads = threads}).run_region(phases, count, context);
}

TEST(OneCrew, PoolsOfAProcessShareTheirThreads) {
  std::vector<std::unique_ptr<Pool>> pools;
  for (int i = 0; i < 20; ++i) pools.push_back(std::make_unique<Pool>(Options{.threads = 2}));
  for (auto& pool : pools) {
    Count count;
    pool->parallel_for(100, Count::body, &count);
    EXPECT_EQ(count.sum, 100);
  }
  EXPECT_LE(threads_here(), most_threads());
  expect_all(run_here, 1'000);
  EXPECT_LE(threads_here(), most_threads());
}

TEST(OneCrew, LibrariesShareThem) {
  Library first(LATHE_CREW_LIBRARY_1), second(LATHE_CREW_LIBRARY_2);
  ASSERT_NE(first.run, nullptr) << dlerror();
  ASSERT_NE(second.run, nullptr) << dlerror();
  for (int i = 0; i < 5; ++i) {
    expect_all(run_here, 64);
    expect_all(first.run, 3);
    expect_all(second.run, 64);
    EXPECT_LE(threads_here(), most_threads());
  }
}

bool counts(RunPhases* run, int threads) {
  Count count;
  const lathe_phase phases[] = {{Count::body, 100}, {Count::body, 3}};
  run(phases, 2, &count, threads);
  return count.sum == 103;
}

class OneCrewForks : public testing::Test {
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer ends a forked child that starts a thread";
#endif
  }
};

TEST_F(OneCrewForks, TheLibraryThatMadeItMayBeClosed) {
  expect_all(run_here, 2);
  EXPECT_EQ(in_a_child([] {
              for (int i = 0; i < 20; ++i) {
                Library first(LATHE_CREW_LIBRARY_1), second(LATHE_CREW_LIBRARY_2);
                if (!counts(first.run, 4) || !counts(second.run, 4)) return false;
                first.close();
                if (!counts(second.run, 4) || !counts(run_here, 4)) return false;
                second.close();
                if (!counts(run_here, 4) || threads_here() > most_threads()) return false;
              }
              return true;
            }),
            0);
  expect_all(run_here, 2);
}

TEST_F(OneCrewForks, LibrariesAreClosedWhileOthersWork) {
  EXPECT_EQ(in_a_child([] {
              Library other(LATHE_CREW_LIBRARY_2);
              std::atomic<bool> stop{false}, right{true};
              std::vector<std::jthread> callers;
              for (int i = 0; i < 3; ++i)
                callers.emplace_back([&, i] {
                  while (!stop)
                    if (!counts(i == 0 ? run_here : other.run, 4)) right = false;
                });
              for (int i = 0; i < 100; ++i) {
                Library first(LATHE_CREW_LIBRARY_1);
                for (int k = 0; k < 5; ++k)
                  if (!counts(first.run, 4)) right = false;
              }
              stop = true;
              callers.clear();
              return right.load();
            }),
            0);
}

TEST_F(OneCrewForks, ForkedChildrenHaveTheirOwn) {
  expect_all(run_here, 4);
  const auto works = [] { return counts(run_here, 4) && counts(run_here, 2); };
  EXPECT_EQ(in_a_child([&] { return works() && in_a_child(works) == 0 && works(); }), 0);
  std::atomic<bool> stop{false};
  {
    // Forks in the middle of regions of other threads.
    std::jthread busy([&] {
      while (!stop) counts(run_here, 4);
    });
    for (int i = 0; i < 30; ++i) EXPECT_EQ(in_a_child(works), 0);
    stop = true;
  }
  expect_all(run_here, 4);
}

// An option of the environment, which a process reads once.
TEST_F(OneCrewForks, PinsWorkersWhereItIsAskedTo) {
  if (processors() < 2) GTEST_SKIP() << "there is one processor only";
  EXPECT_EQ(in_a_child([] {
              setenv("LATHE_PIN_THREADS", "1", 1);
              if (!counts(run_here, 2)) return false;
              int pinned = 0;
              for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
                cpu_set_t set;
                const int id = std::stoi(task.path().filename());
                if (sched_getaffinity(id, sizeof set, &set) != 0) return false;
                if (id != getpid() && CPU_COUNT(&set) == 1) ++pinned;
              }
              return pinned == 1 && counts(run_here, 2);
            }),
            0);
}

// As where a limit of processes or of memory is reached.
TEST_F(OneCrewForks, WorksAloneWhereNoThreadCanBeStarted) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer needs terabytes of address space";
#endif
  EXPECT_EQ(in_a_child([] {
              const rlimit nothing{1 << 20, 1 << 20};
              if (setrlimit(RLIMIT_AS, &nothing) != 0) return false;
              const bool none = Pool({.threads = 2}).threads_now() == 1;
              return none && counts(run_here, 2) && counts(run_here, 64);
            }),
            0);
}

// Each caller gets workers of its own: no worker number twice at a time, all iterations once.
TEST(OneCrew, SeveralCallersAtOnce) {
  std::vector<std::jthread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i)
        if (!counts(run_here, 2 + t % 3)) ++wrong;
    });
  callers.clear();
  EXPECT_EQ(wrong, 0);
}

// As a container's processors are taken away, and given back.
TEST(OneCrew, ProcessorsMayBeTakenAway) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "there is one processor only";
  expect_all(run_here, 2);
  const auto confine = [](const cpu_set_t& set) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
      sched_setaffinity(std::stoi(task.path().filename()), sizeof set, &set);
  };
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  const Pool pool({.threads = 2});
  EXPECT_EQ(pool.threads_now(), 2);
  confine(one);
  EXPECT_EQ(pool.threads_now(), 1);
  expect_all(run_here, 2);
  confine(before);
  EXPECT_EQ(pool.threads_now(), 2);
  expect_all(run_here, 2);
}

}  // namespace
}  // namespace lathe::pool
