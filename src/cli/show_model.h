// lathe show model.onnx: the graph of a model.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::cli {

// True for the name of a file of a model: it ends in .onnx.
bool names_model(const std::string& text);
// Prints what `what` says of the model: graph, text or tasks. Sizes that the model leaves open are
// given as NAME=SIZES.
Result<int> show_model(const std::string& path, const std::vector<std::string>& shapes,
                       const std::string& what);

}  // namespace lathe::cli
