// Reductions over windows of several dimensions, which go along one of them first.
#pragma once

#include <string>

#include "compiler/ir/nest/nest.h"

namespace lathe::algebra {

double extent_of(const ir::Nest& nest, const ir::BlockIter& iter);
double points_of(const ir::Nest& nest, const ir::Block& block);  // of all its iterators

// The iterator over which the block best reduces first; empty where that saves too little.
std::string goes_first(const ir::Nest& nest, const ir::Block& block);

}  // namespace lathe::algebra
