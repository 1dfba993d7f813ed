// lathe bench model.onnx: the time of a model, and of each of its nodes within.
#pragma once

#include <string>
#include <vector>

#include "api/model_weights.h"
#include "api/schedules.h"

namespace lathe::cli {

struct ModelBenchFlags {
  std::string path;
  std::vector<std::string> shapes;
  api::WeightsRequest weights;
  api::ScheduleRequest schedule;
  Target target;
  api::Checking checking = api::Checking::kOnce;
  bool json = false;
  bool floors = false;  // each node's is measured, too
  int jobs = 1;
  std::string timeline;  // where times of nodes are written for a viewer; "": nowhere
};
Result<int> bench_model(const ModelBenchFlags& flags);

}  // namespace lathe::cli
