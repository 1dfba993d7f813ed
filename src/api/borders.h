// The shapes of a workload's inputs and outputs as callers see them.
#pragma once

#include "compiler/ir/flat/flat.h"
#include "compiler/te/workload.h"

namespace lathe::api {

// Merges in `border` the dimensions that the workload merges for callers. Every element keeps its
// place in storage.
void merge_dimensions(flat::Border& border, const te::Tensor& tensor);

}  // namespace lathe::api
