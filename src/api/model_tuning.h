// Tunes a model as a whole: its tasks take turns in the time that there is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/last_word.h"
#include "api/time_shares.h"
#include "api/tuning.h"
#include "graph/ir/graph.h"
#include "tuner/tune/task_scheduler.h"

namespace lathe::api {

struct ModelTuneRequest {
  Target target;
  std::string database, global_model;
  // run.trials counts those of all tasks together, and run.seconds is the time of the whole.
  tune::Options options;
  Clock clock = seconds_now;
};

struct TunedTask {
  std::string label;     // "Conv+Relu f32[1,64,56,56]"
  std::string workload;  // its key
  double weight = 1;     // calls in a run of the model; 0: other programs do what it would
  int trials = 0, failed = 0;
  double first = 0, best = 0;  // seconds a call: of the default program, of the best; 0: none
  std::string problem;         // why it cannot be tuned; empty: it can
};

struct TunedModel {
  std::vector<TunedTask> tasks;  // those with most time before others
  double seconds = 0;            // wall
  bool interrupted = false;
  LastWord last_word;
  // Of a run of the model in its tasks that have both times.
  double first() const;
  double best() const;
};

struct ModelTuneProgress {
  std::string task;  // whose turn it is
  std::size_t tasks = 0, begun = 0;
  int trials = 0;
  double best = 0;  // seconds of a run in its tasks, guessed where nothing is known
  double left = 0;  // seconds; 0: no limit
  std::string doing;
};
using ModelTuneListener = std::function<void(const ModelTuneProgress&)>;

// A workload that a whole calls so often.
struct TaskToTune {
  std::string label;
  te::Workload workload;
  double weight = 1;
};
// Tasks of a whole that is no graph here: programs are not exchanged in it at the end. Equal
// workloads are one task, and its label is that of the first.
Result<TunedModel> tune_tasks(const std::vector<TaskToTune>& tasks, const ModelTuneRequest& request,
                              const ModelTuneListener& listener, const std::function<bool()>& stop);

// What may be one program or several (api/model_groups.h) is tuned as both, and the model has what
// is faster. What was found is in the store after each trial, and the same command goes on.
Result<TunedModel> tune_model(const graph::Graph& graph, const ModelTuneRequest& request,
                              const ModelTuneListener& listener, const std::function<bool()>& stop);

}  // namespace lathe::api
