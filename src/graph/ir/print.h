// What people read of a graph, and what is counted of it.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace lathe::graph {

// Nodes with the same workload key, which are tuned once.
struct Task {
  std::string key;
  std::vector<int> nodes;  // at least one, in order
};
std::vector<Task> tasks_of(const Graph& graph);
// Writes "Conv+Relu f32[1,64,56,56]".
std::string label_of(const Graph& graph, const Node& node);
std::string label_of(const Graph& graph, const Task& task);  // of its first node

struct Totals {
  double flops = 0, bytes = 0;  // sums over nodes of te::flops and te::io_bytes
  std::int64_t parameters = 0, parameter_bytes = 0;  // elements of constants of float types
};
Totals totals_of(const Graph& graph);

// Inputs, outputs and totals, a few lines.
std::string summary(const Graph& graph);
// A line a node, and a line a view that a node or an output of the graph uses. `remarks`: what else
// is told of each node; or none.
std::string print(const Graph& graph, const std::vector<std::string>& remarks = {});

// What else is told of each task, in the order of tasks_of(). Titles and cells have one width.
struct TaskColumn {
  std::string title;
  std::vector<std::string> cells;
};
// A line a task, those with most work first.
std::string print_tasks(const Graph& graph, const std::vector<TaskColumn>& more = {});

}  // namespace lathe::graph
