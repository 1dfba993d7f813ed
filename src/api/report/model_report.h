// A model for people: its nodes in order, who reads what they make, and where the time goes, as
// numbers and texts, before any of it is drawn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/model_floors.h"
#include "api/schedules.h"
#include "base/result.h"
#include "base/target.h"
#include "graph/ir/graph.h"

namespace lathe::report {

struct ModelNode {
  std::size_t task = 0;
  std::string op, name;
  std::string made;                 // "f32[1,64,56,56]"
  std::vector<std::string> inputs;  // "x: f32[1,3,224,224]"
  std::vector<std::string> outputs;
  std::string expression;  // as te::print_workload() writes it
};

struct ModelTask {
  std::string key, label;  // "Conv+Relu f32[1,64,56,56]"
  std::vector<int> nodes;
  double flops = 0;    // of a call
  double seconds = 0;  // of a call; 0: not even guessed
  // Of the program that the model has; without it, `seconds` are guessed of the default program.
  std::optional<api::Chosen> recorded;
  bool elsewhere = false;  // recorded on another machine
  // How fast a call could be on this machine, where that was measured.
  std::optional<api::NodeFloor> floor;
  // Of all nodes.
  double total() const { return seconds * static_cast<double>(nodes.size()); }
};

// A value that is read elsewhere than in the next row: a line beside the rows, in a column of its
// own there, as far as it goes.
struct ModelLane {
  std::string value;                 // "cat: f32[1,256,56,56]"
  std::vector<int> makers, readers;  // rows
  int column = 0;                    // from the rows on
  int begin() const;
  int end() const;
};

// Rows are the model's inputs, then its nodes in order, then its outputs.
struct ModelReport {
  std::string name, target;
  std::vector<std::string> inputs, outputs;
  std::vector<ModelNode> nodes;
  std::vector<ModelTask> tasks;  // those with most time before others
  std::vector<ModelLane> lanes;
  std::vector<bool> next;  // by row: the next row reads what this one makes
  int columns = 0;         // of lanes
  // Seconds of a run in its nodes, and how much of that is recorded.
  double seconds = 0, recorded_seconds = 0;
};

Result<ModelReport> describe_model(const graph::Graph& graph, const api::ScheduleRequest& records,
                                   const Target& target);

}  // namespace lathe::report
