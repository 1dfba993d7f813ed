// What a tuner is given to do.
#pragma once

#include "compiler/te/workload.h"

namespace lathe::tune {

// A workload, and how often the graph that it comes from calls it.
struct Task {
  te::Workload workload;
  double weight = 1;
};

// Seconds that the whole graph spends in the task.
inline double graph_seconds(const Task& task, double seconds_a_call) {
  return task.weight * seconds_a_call;
}

}  // namespace lathe::tune
