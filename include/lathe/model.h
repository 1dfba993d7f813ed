// Whole models: from model.onnx to one library, tuned as a whole.
//
//   auto model = lathe::Model::open("model.onnx", {{"batch", {1}}});
//   auto found = model->tune({.seconds = 90});
//   auto written = model->write_library("model.so");
//
// As in lathe.h, everything that can fail returns Expected, and nothing prints.
#pragma once

#include "lathe/lathe.h"

namespace lathe {

// Nodes of a model that are the same workload.
struct ModelTask {
  std::string name;  // "Conv+Relu f32[1,64,56,56]", of the first node
  std::string key;   // the workload's
  int nodes = 1;     // 0: other programs do what it would
  int trials = 0, failed = 0;
  double default_seconds = 0, best_seconds = 0;  // of a call; 0: none was measured
  std::string problem;                           // why it cannot be tuned; empty: it can
};

struct ModelTuneResult {
  std::vector<ModelTask> tasks;  // those with most time in a run before others
  double seconds = 0;
  bool interrupted = false;
  // Of a run, called node by node: before and after programs were exchanged in the whole; 0: there
  // was no time for it.
  double whole_before = 0, whole_after = 0;
};

// How exact a model has to be, and what may be kept narrow for that (docs/models.md, "Narrow
// weights"). Both belong to the tasks: write_library() finds what tune() found with the same ones.
struct ModelExactness {
  // Largest error of an output, relative to its largest element; 0: 1e-4.
  double max_error = 0;
  // The type in which weights of products are kept; they are read as f32. "any": f16, or bf16 where
  // f16 has no such numbers, where that gains time and max_error allows it. "f16", "bf16": all of
  // them, refused where max_error does not allow it. "f32": none.
  std::string weights_type = "any";
};

class Model {
 public:
  // Shapes give what the file leaves open: a size by its name, or all sizes of an input.
  static Expected<Model> open(const std::string& path,
                              const std::map<std::string, std::vector<std::int64_t>>& shapes = {},
                              const ModelExactness& exactness = {});
  double flops() const;  // of a run
  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;

  // Shares the time, or the trials, among the tasks. TuneProgress::best_seconds is that of a run in
  // its tasks, guessed where nothing was measured yet. `listener` and `stop` as in
  // Workload::tune().
  Expected<ModelTuneResult> tune(const TuneOptions& options = {},
                                 const std::function<void(const TuneProgress&)>& listener = {},
                                 const std::function<bool()>& stop = {}) const;
  // Writes a library with all weights inside, a C header and an example, as `lathe compile` does.
  // `schedule` is "best", with the default where nothing is on record, or as in
  // Workload::compile(). With a check, each program is checked, and the whole once, where the
  // machine is this one: more than the largest error that is allowed fails.
  Expected<void> write_library(const std::string& path, const std::string& schedule = "best",
                               const Machine& machine = {}, Check check = Check::kOnce) const;

  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

// A workload that something else calls so often, as a model of another framework does.
struct WorkloadCalls {
  Workload workload;
  int calls = 1;
};
// Shares the time, or the trials, among them as Model::tune() does among tasks, and exchanges
// nothing at the end. ModelTask::nodes are the calls. The options' machine may ask for cold caches.
Expected<ModelTuneResult> tune_together(
    const std::vector<WorkloadCalls>& workloads, const TuneOptions& options = {},
    const std::function<void(const TuneProgress&)>& listener = {},
    const std::function<bool()>& stop = {});

}  // namespace lathe
