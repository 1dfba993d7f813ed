// Scans in a nest: blocks that read elements that they have written before. What they read lies
// along one axis before the element that they write, so the loops along it keep their order.
#pragma once

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

// True if the block reads the buffer that it writes.
bool is_scan(const ir::Block& block);
bool has_scan(const ir::Nest& nest);

// True if the loop moves the block along the axis of its scan.
bool is_scan_loop(const ir::Block& block, ir::LoopId loop);

// True if the loop, or one around it, is such a loop of the block that writes the buffer: what it
// holds in one iteration is not all that the scan reads again.
bool goes_along_scan(const ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

}  // namespace lathe::analysis
