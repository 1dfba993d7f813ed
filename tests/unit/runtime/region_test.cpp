#include "runtime/pool/region.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe::pool {
namespace {

constexpr std::int64_t kSpinNs = 1'000;

struct Free {
  void operator()(Region* region) const { std::free(region); }
};
using Owned = std::unique_ptr<Region, Free>;

Owned region_of(int lanes) {
  void* memory = std::aligned_alloc(64, (Region::bytes(lanes) + 63) / 64 * 64);
  return Owned(Region::make(memory, lanes));
}

// Lanes 1 ... lanes-1 in threads of their own, lane 0 here; lanes in `away` have no thread.
void run(Region& region, const std::vector<lathe_phase>& phases, void* context, int lanes,
         const std::vector<int>& away = {}) {
  const std::uint64_t number =
      region.open(phases.data(), static_cast<int>(phases.size()), context, lanes);
  std::vector<std::jthread> threads;
  for (int lane = 1; lane < lanes; ++lane)
    if (std::ranges::find(away, lane) == away.end())
      threads.emplace_back([&, lane] { region.work(number, lane, kSpinNs); });
  region.work(number, 0, kSpinNs);
}

struct Visits {
  std::vector<std::atomic<int>> of_iteration;
  std::atomic<bool> shared{false};     // two threads had one worker number at a time
  std::vector<std::atomic<int>> busy;  // by worker

  Visits(std::int64_t count, int lanes) : of_iteration(count), busy(lanes) {}
  static void body(void* context, std::int64_t begin, std::int64_t end, std::int64_t worker) {
    auto& visits = *static_cast<Visits*>(context);
    if (visits.busy[worker].fetch_add(1) != 0) visits.shared = true;
    for (std::int64_t i = begin; i < end; ++i) ++visits.of_iteration[i];
    visits.busy[worker].fetch_sub(1);
  }
};

TEST(Region, EveryIterationRunsOnce) {
  for (const int lanes : {1, 2, 3, 8, 9, 17, 40})
    for (const std::int64_t count : {1, 2, 7, 16, 17, 101, 1'000, 30'011}) {
      const Owned region = region_of(lanes + 3);
      for (int repeat = 0; repeat < 3; ++repeat) {
        Visits visits(count, lanes);
        run(*region, {{Visits::body, count}}, &visits, lanes);
        for (const auto& visited : visits.of_iteration) ASSERT_EQ(visited, 1);
        EXPECT_FALSE(visits.shared);
      }
    }
}

TEST(Region, NobodyWaitsForLanesWithoutAThread) {
  const Owned region = region_of(20);
  for (const std::vector<int>& away :
       {std::vector<int>{1}, {2, 3, 4}, {8, 9, 10, 11, 12, 13, 14, 15}, {1, 19}}) {
    Visits visits(777, 20);
    run(*region, {{Visits::body, 777}, {Visits::body, 0}}, &visits, 20, away);
    for (const auto& visited : visits.of_iteration) ASSERT_EQ(visited, 1);
  }
}

// Threads run in step: nobody begins its next piece before all that may run have finished theirs.
// One lane is held in its piece number `held_at` until everything else is done.
struct Steps {
  int lanes, held, held_at;
  std::int64_t count;
  std::mutex lock;
  std::condition_variable change;
  std::vector<int> pieces;  // by worker
  int arrived = 0, round = 0, running, finished = 0;
  bool holding = false;

  Steps(int lane_count, int lane, int at, std::int64_t iterations)
      : lanes(lane_count),
        held(lane),
        held_at(at),
        count(iterations),
        pieces(lane_count, 0),
        running(lane_count) {}

  static void body(void* context, std::int64_t begin, std::int64_t end, std::int64_t worker) {
    static_cast<Steps*>(context)->piece(end - begin, static_cast<int>(worker));
  }
  void piece(std::int64_t iterations, int worker) {
    std::unique_lock hold(lock);
    const bool stops = worker == held && pieces[worker] == held_at;
    ++pieces[worker];
    if (stops) {
      holding = true;
      --running;
      next_round_if_all();
      change.wait(hold, [&] { return finished + iterations == count; });
      finished += static_cast<int>(iterations);
      return;
    }
    ++arrived;
    const int mine = round;
    next_round_if_all();
    // At the end there are fewer pieces than threads: then nobody waits for the others.
    change.wait_for(hold, std::chrono::milliseconds(20), [&] { return round != mine; });
    if (round == mine) {
      ++round;
      arrived = 0;
    }
    finished += static_cast<int>(iterations);
    change.notify_all();
  }
  void next_round_if_all() {
    if (arrived < running) return;
    ++round;
    arrived = 0;
    change.notify_all();
  }
};

// What a held thread has not taken is shared by the others: none runs more of it than its part,
// rounded up, and what one has begun.
TEST(Region, OthersShareWhatALateThreadLeaves) {
  for (const int lanes : {2, 4, 5})
    for (const int held : {0, lanes - 1})
      for (const int at : {0, 1, 7}) {
        const std::int64_t count = 16 * lanes;
        const Owned region = region_of(lanes);
        Steps steps(lanes, held, at, count);
        run(*region, {{Steps::body, count}}, &steps, lanes);
        const int left = 16 - at - 1;
        const int most = 16 + (left + lanes - 2) / (lanes - 1);
        for (int lane = 0; lane < lanes; ++lane)
          if (lane != held) {
            EXPECT_LE(steps.pieces[lane], most + 1) << lanes << " " << held << " " << at;
          }
        EXPECT_EQ(steps.pieces[held], at + 1);
      }
}

TEST(Region, FewIterationsAreOfTheFirstLanes) {
  const Owned region = region_of(16);
  struct Workers {
    std::atomic<std::uint64_t> seen{0};
  } workers;
  // Only the caller is there: it works off the first lane, then helps the others.
  const lathe_phase phase{[](void* context, std::int64_t, std::int64_t, std::int64_t worker) {
                            static_cast<Workers*>(context)->seen |= std::uint64_t{1} << worker;
                          },
                          3};
  const std::uint64_t number = region->open(&phase, 1, &workers, 16);
  region->work(number, 0, kSpinNs);
  EXPECT_EQ(workers.seen, 1U);
  // A thread of an old region takes nothing of a new one.
  region->open(&phase, 1, &workers, 16);
  EXPECT_FALSE(region->work(number, 5, kSpinNs));
  EXPECT_EQ(workers.seen, 1U);
}

// Regions of several phases whose threads come and go.
TEST(Region, PhasesFollowEachOther) {
  struct Sums {
    std::vector<std::vector<std::int64_t>> numbers;
    static void step(void* context, std::int64_t begin, std::int64_t end, std::int64_t) {
      auto& n = static_cast<Sums*>(context)->numbers;
      for (std::int64_t i = begin; i < end; ++i) {
        std::size_t p = 0;
        while (n[p + 1][i] >= 0) ++p;
        const auto width = static_cast<std::int64_t>(n[p].size());
        n[p + 1][i] = (n[p][(i + 1) % width] + n[p][(i + width - 1) % width]) % 1009;
      }
    }
  };
  const auto sums_of = [](int lanes, std::vector<int> away) {
    Sums sums;
    sums.numbers.assign(12, std::vector<std::int64_t>(53, -1));
    for (std::size_t i = 0; i < 53; ++i)
      sums.numbers[0][i] = static_cast<std::int64_t>(i * i % 101);
    const Owned region = region_of(lanes);
    run(*region, std::vector<lathe_phase>(11, {Sums::step, 53}), &sums, lanes, std::move(away));
    return sums.numbers;
  };
  const auto wanted = sums_of(1, {});
  for (const int lanes : {2, 3, 9, 20}) {
    EXPECT_EQ(sums_of(lanes, {}), wanted);
    EXPECT_EQ(sums_of(lanes, {lanes - 1}), wanted);
  }
}

}  // namespace
}  // namespace lathe::pool
