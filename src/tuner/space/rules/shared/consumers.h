// What blocks make of a result that they read.
#pragma once

#include "compiler/ir/nest/nest.h"
#include "compiler/te/workload.h"

namespace lathe::space {

// True if the block has the axes of the tensor and no others, and reads the tensor, or a cache of
// it, at its own element only.
bool maps_element_by_element(const ir::Nest& nest, const ir::Block& block, ir::BufferId tensor);
// The same of a stage of a program that has no nest yet.
bool maps_element_by_element(const te::Stage& stage, int tensor);

// The iterator of a block that reduces exactly dimension `dim` of the tensor and keeps the others
// in order; it is the last. Else -1.
int reduced_alone(const ir::Nest& nest, const ir::Block& block, ir::BufferId tensor, int dim);

}  // namespace lathe::space
