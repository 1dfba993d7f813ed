// lathe tune model.onnx: the tasks of a model share the time.
#pragma once

#include "api/model_tuning.h"
#include "api/model_weights.h"

namespace lathe::cli {

struct ModelTuneFlags {
  std::string path;
  std::vector<std::string> shapes;
  api::WeightsRequest weights;
  api::ModelTuneRequest request;
  std::string first;  // what is said once, about threads
  bool json = false;
};
Result<int> tune_model(const ModelTuneFlags& flags);

}  // namespace lathe::cli
