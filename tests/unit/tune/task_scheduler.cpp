#include "tuner/tune/task_scheduler.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace lathe::tune {
namespace {

// A task whose best time goes down to a floor, half of the way with each turn.
struct Falling {
  double weight, now, floor, cost;
};

double run(TaskScheduler& scheduler, std::vector<Falling>& tasks, double seconds) {
  while (const auto task = scheduler.next()) {
    Falling& one = tasks[*task];
    if (seconds < one.cost) break;
    seconds -= one.cost;
    one.now = (one.now + one.floor) / 2;
    scheduler.end_turn(*task, {one.now, one.cost, false});
  }
  double sum = 0;
  for (const Falling& task : tasks) sum += task.weight * task.now;
  return sum;
}

TaskScheduler scheduler_of(const std::vector<Falling>& tasks) {
  std::vector<TaskScheduler::Task> out;
  for (const Falling& task : tasks) out.push_back({.weight = task.weight, .guess = task.now});
  return TaskScheduler(out);
}

TEST(TaskScheduler, EachTaskHasATurnTheLargestFirst) {
  TaskScheduler scheduler({{.weight = 1, .guess = 2}, {.weight = 5, .guess = 1}, {.guess = 0.5}});
  std::vector<std::size_t> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(*scheduler.next());
    scheduler.end_turn(order.back(), {1.0, 0.1, false});
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 0, 2}));
}

TEST(TaskScheduler, WhatGainsNothingEnds) {
  TaskScheduler scheduler({{.guess = 1}, {.guess = 1}});
  scheduler.end_turn(0, {1.0, 0.1, false});
  scheduler.end_turn(1, {0.0, 0.1, true});  // it cannot be tuned
  int turns = 0;
  while (const auto task = scheduler.next()) {
    ASSERT_EQ(*task, 0U);
    ASSERT_LT(++turns, 20);
    scheduler.end_turn(0, {1.0, 0.1, false});
  }
  EXPECT_GT(turns, 2);
  EXPECT_EQ(scheduler.graph_seconds(), 1.0 + 1.0);  // what was guessed stays
}

TEST(TaskScheduler, GainsMoreThanTurnsInOrder) {
  double all_shared = 0, all_even = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    std::vector<Falling> tasks;
    for (int i = 0; i < 12; ++i) {
      const double now = static_cast<double>(rng.between(1, 100));
      tasks.push_back({static_cast<double>(rng.between(1, 6)), now,
                       now * static_cast<double>(rng.between(20, 100)) / 100, 1});
    }
    std::vector<Falling> in_order = tasks;
    TaskScheduler scheduler = scheduler_of(tasks);
    const double shared = run(scheduler, tasks, 36);
    for (int turn = 0; turn < 36; ++turn) {
      Falling& task = in_order[static_cast<std::size_t>(turn % 12)];
      task.now = (task.now + task.floor) / 2;
    }
    double even = 0;
    for (const Falling& task : in_order) even += task.weight * task.now;
    EXPECT_LE(shared, even * 1.01) << "seed " << seed;
    all_shared += shared, all_even += even;
  }
  EXPECT_LT(all_shared, all_even * 0.98);
}

TEST(TaskScheduler, ATurnThatTakesLongMustGainMore) {
  TaskScheduler scheduler({{.guess = 1}, {.guess = 1}});
  scheduler.end_turn(0, {1.0, 10, false});
  scheduler.end_turn(1, {1.0, 1, false});
  EXPECT_EQ(scheduler.next(), 1U);
}

TEST(TaskScheduler, WhatIsInsteadOfOthersComesAfterThem) {
  TaskScheduler scheduler({{.guess = 5, .instead_of = {1, 2}}, {.guess = 1}, {.guess = 2}});
  EXPECT_EQ(scheduler.graph_seconds(), 3);
  std::vector<std::size_t> order;
  double best = 1;
  for (int i = 0; i < 7; ++i) {
    order.push_back(*scheduler.next());
    scheduler.end_turn(order.back(), {best *= 0.9, 0.1, false});
  }
  EXPECT_EQ(order.back(), 0U);
  EXPECT_EQ(std::ranges::count(order, 0U), 1);
  EXPECT_GE(std::ranges::count(order, 1U), 3);
  EXPECT_GE(std::ranges::count(order, 2U), 3);
}

// Others that are over are not waited for.
TEST(TaskScheduler, WhatIsInsteadOfOthersBeginsOnceTheyAreOver) {
  TaskScheduler scheduler({{.guess = 5, .instead_of = {1, 2}}, {.guess = 1}, {.guess = 2}});
  EXPECT_EQ(scheduler.graph_seconds(), 3);
  for (const std::size_t task : {2U, 1U}) {
    EXPECT_EQ(scheduler.next(), task);
    scheduler.end_turn(task, {1.0, 0.1, true});
  }
  EXPECT_EQ(scheduler.next(), 0U);
  EXPECT_EQ(scheduler.graph_seconds(), 2);
}

TEST(TaskScheduler, WhatWillNotBeFasterThanOthersEnds) {
  for (const double best : {1.5, 3.0}) {
    TaskScheduler scheduler({{.guess = 1}, {.guess = 1}, {.guess = 1, .instead_of = {0, 1}}});
    scheduler.end_turn(2, {best, 0.1, false});
    EXPECT_FALSE(scheduler.tasks()[2].over);  // of the others nothing is known
    scheduler.end_turn(0, {1.0, 0.1, false});
    scheduler.end_turn(1, {1.0, 0.1, false});
    EXPECT_EQ(scheduler.tasks()[2].over, best > 2) << best;
  }
}

}  // namespace
}  // namespace lathe::tune
