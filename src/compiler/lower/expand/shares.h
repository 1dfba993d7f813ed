// Which loops move the reads of a buffer.
#pragma once

#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::lower {

// True if the loop is part of an index with which the block reads.
bool moves(const ir::Block& block, const std::vector<ir::Affine>& index, ir::LoopId loop);
// The same of any read of the buffer inside the loop.
bool moves_reads(const ir::Nest& nest, ir::BufferId buffer, ir::LoopId loop);

}  // namespace lathe::lower
