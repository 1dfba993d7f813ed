// lathe show model.onnx: the graph of a model.
#pragma once

#include <string>
#include <vector>

#include "api/model_weights.h"
#include "api/workload.h"
#include "base/result.h"

namespace lathe::cli {

// True for the name of a file of a model: it ends in .onnx.
bool names_model(const std::string& text);
// Refuses what a model does not take of a workload's flags.
Status check_flags_of_model(const api::WorkloadRequest& request);
// Prints what `what` says of the model: graph, text or tasks. Sizes that the model leaves open are
// given as NAME=SIZES. `after`: the last pass that it goes through; "" all, and then types of
// weights are chosen.
Result<int> show_model(const std::string& path, const std::vector<std::string>& shapes,
                       const std::string& what, const std::string& after,
                       const api::WeightsRequest& weights, const Target& target);

}  // namespace lathe::cli
