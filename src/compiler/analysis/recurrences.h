// Recurrences in a nest: blocks that read what later blocks of the same loops have written in
// iterations before.
#pragma once

#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

// True if a block reads what a later one writes.
bool has_recurrence(const ir::Nest& nest);

// The loops along which that goes, with the blocks of a recurrence inside: each iteration is a step
// or a part of one. A loop of one iteration is none of them.
std::vector<ir::LoopId> step_loops(const ir::Nest& nest);

// True if the block is inside one of these loops.
bool is_in_steps(const ir::Nest& nest, ir::BlockId block);

// True if the block goes along an axis element by element: a scan, or one of the blocks of a
// recurrence that have all loops in common.
bool goes_along_axis(const ir::Nest& nest, ir::BlockId block);

}  // namespace lathe::analysis
