#include "tuner/tune/task_scheduler.h"

#include <algorithm>

namespace lathe::tune {
namespace {

constexpr double kLeastGain = 0.01;  // below it a task is over
constexpr double kLeastCost = 0.05;  // seconds
// What is instead of others waits until each of them had so many: it gains little at best, and
// compared with what is hardly tuned it would seem to gain much.
constexpr int kTurnsOfOthers = 3;

double seconds_of(const TaskScheduler::Task& task) {
  return task.weight * (task.best > 0 ? task.best : task.guess);
}

double expected(const TaskScheduler::Task& task) {
  return seconds_of(task) * task.gain / std::max(kLeastCost, task.cost);
}

}  // namespace

std::optional<std::size_t> TaskScheduler::next() const {
  std::optional<std::size_t> best;
  const auto is_better = [&](const Task& task, const Task& than) {
    if ((task.turns == 0) != (than.turns == 0)) return task.turns == 0;
    if (task.turns == 0 && task.instead_of.empty() != than.instead_of.empty())
      return task.instead_of.empty();
    if (task.turns == 0) return seconds_of(task) > seconds_of(than);
    return expected(task) > expected(than);
  };
  for (std::size_t t = 0; t < tasks_.size(); ++t)
    if (!tasks_[t].over && !waits(tasks_[t]) && (!best || is_better(tasks_[t], tasks_[*best])))
      best = t;
  return best;
}

bool TaskScheduler::waits(const Task& task) const {
  return std::ranges::any_of(task.instead_of, [&](std::size_t t) {
    return !tasks_[t].over && tasks_[t].turns < kTurnsOfOthers;
  });
}

void TaskScheduler::end_turn(std::size_t index, const Turn& turn) {
  Task& task = tasks_[index];
  const double before = task.best;
  if (turn.best > 0) task.best = task.best > 0 ? std::min(task.best, turn.best) : turn.best;
  task.cost = turn.cost;
  ++task.turns;
  // The first turn says nothing of how much the next one gains.
  if (before > 0) task.gain = std::max((before - task.best) / before, task.gain / 2);
  task.over = turn.over || task.gain < kLeastGain;
  for (Task& other : tasks_) other.over = other.over || is_hopeless(other);
}

bool TaskScheduler::is_hopeless(const Task& task) const {
  if (task.instead_of.empty() || task.best == 0) return false;
  double others = 0;
  for (const std::size_t t : task.instead_of) {
    if (tasks_[t].best == 0) return false;
    others += tasks_[t].best;
  }
  return task.best * (1 - task.gain) >= others;
}

double TaskScheduler::graph_seconds() const {
  double sum = 0;
  for (const Task& task : tasks_)
    if (task.instead_of.empty()) sum += seconds_of(task);
  return sum;
}

}  // namespace lathe::tune
