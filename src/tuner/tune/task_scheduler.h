// Shares time among the tasks of a graph: the next turn is for the task of which most seconds a run
// of the graph are expected to be gained for each second spent.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lathe::tune {

class TaskScheduler {
 public:
  struct Task {
    double weight = 1;  // calls in a run of the graph
    double guess = 0;   // seconds a call, while nothing is measured
    double best = 0;    // seconds a call of the best program that is known; 0: none
    double gain = 0.3;  // that is expected of the next turn, as a part of the time
    double cost = 0;    // seconds that the last turn took
    int turns = 0;
    bool over = false;  // nothing more is expected of it
    // Those whose calls it would make with one of its own. It is over once it is not expected to
    // take less time than these.
    std::vector<std::size_t> instead_of;
  };
  // A turn of a task.
  struct Turn {
    double best = 0;    // after it; 0: still none
    double cost = 0;    // seconds
    bool over = false;  // its space is used up, or it cannot be tuned
  };

  explicit TaskScheduler(std::vector<Task> tasks) : tasks_(std::move(tasks)) {}

  // Each task has one turn first, those with most time before others. Then the expected gain
  // decides: what the last turns gained, halved with each one that gained less. A task that is
  // instead of others begins once each of these is over, or had three turns. None: all are over.
  std::optional<std::size_t> next() const;
  void end_turn(std::size_t task, const Turn& turn);

  const std::vector<Task>& tasks() const { return tasks_; }
  // Seconds of a run of the graph in these tasks, without those that are instead of others, and
  // with guesses where nothing is known.
  double graph_seconds() const;

 private:
  bool is_hopeless(const Task& task) const;
  bool waits(const Task& task) const;

  std::vector<Task> tasks_;
};

}  // namespace lathe::tune
