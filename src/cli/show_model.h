// lathe show model.onnx: the graph of a model.
#pragma once

#include <string>
#include <vector>

#include "api/model_weights.h"
#include "api/schedules.h"
#include "api/workload.h"
#include "base/result.h"

namespace lathe::cli {

// True for the name of a file of a model: it ends in .onnx.
bool names_model(const std::string& text);
// Refuses what a model does not take of a workload's flags.
Status check_flags_of_model(const api::WorkloadRequest& request);

struct ModelShowFlags {
  std::string path;
  std::vector<std::string> shapes;  // what the model leaves open, as NAME=SIZES
  std::string what = "graph";       // or text, or tasks
  // The last pass that it goes through; "" all, and then types of weights are chosen.
  std::string after;
  api::WeightsRequest weights;
  Target target;
  api::ScheduleRequest records;  // where programs on record are looked for
  bool floors = false;           // each task's is measured
  int jobs = 1;
};
Result<int> show_model(const ModelShowFlags& flags);

}  // namespace lathe::cli
