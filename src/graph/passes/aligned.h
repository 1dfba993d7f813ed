// How an expression reads an input: what fusion asks.
#pragma once

#include <vector>

#include "compiler/te/workload.h"

namespace lathe::graph {

// True if nothing is summed up, and no index is computed from data.
bool is_pointwise(const te::Workload& expression);

// True if each element of each output needs of these inputs (tensors of the expression) those with
// the same index alone, and computes nothing else that is summed up.
bool is_aligned(const te::Workload& expression, const std::vector<int>& inputs);

}  // namespace lathe::graph
