// The shapes of a program's borders as callers see them.
#pragma once

#include "compiler/ir/flat/flat.h"
#include "compiler/te/program.h"

namespace lathe::api {

// Dimensions that the workload merges at its border are one in `border`, too; every element stays
// where it is in storage.
void merge_dimensions(flat::Border& border, const te::Tensor& tensor);

}  // namespace lathe::api
