// Who writes, who reads, in which order: what a step asks before it moves something.
#pragma once

#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

// `inner` is a loop in the body of `outer`, at any depth; every loop is strictly inside kRoot.
bool is_strictly_inside(const ir::Nest& nest, ir::LoopId inner, ir::LoopId outer);

bool reads(const ir::Block& block, ir::BufferId buffer);
// Blocks inside `loop`, in tree order.
std::vector<ir::BlockId> readers_of(const ir::Nest& nest, ir::BufferId buffer,
                                    ir::LoopId loop = ir::kRoot);
std::vector<ir::BlockId> writers_of(const ir::Nest& nest, ir::BufferId buffer,
                                    ir::LoopId loop = ir::kRoot);

// Some iterator of the block has a digit of the loop.
bool is_driven_by(const ir::Block& block, ir::LoopId loop);

// Position among children(loop) of the one that contains the block; -1 if the block is not inside.
int child_with(const ir::Nest& nest, ir::LoopId loop, ir::BlockId block);

// Reduction loops of `block` among `loop` and the loops around it: what one iteration of `loop` has
// completed is only part of a sum if there are any.
bool is_partial_at(const ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

// The block depends, directly or through others, on a sum over `loop` (and is no write-back): it
// waits for its last iteration.
bool waits_for(const ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

// The loops around `block` that contain nothing else, outermost first, not counting any around or
// equal to `keep`.
std::vector<ir::LoopId> own_loops(const ir::Nest& nest, ir::BlockId block, ir::LoopId keep);

// The iterators can be driven by other loops than they are: each is an index of the element
// written, or runs over a reduction of its own. (After rfactor, one loop gives an index and a part
// of what is summed.)
bool can_be_placed_anew(const ir::Nest& nest, ir::BlockId block);

// A block that writes the buffer is in a loop that is around `loop` or is it: then only part of the
// buffer is there.
bool is_in_the_making(const ir::Nest& nest, ir::BufferId buffer, ir::LoopId loop);

// Recomputing some elements at the end of `loop` (Tail::kShift) changes nothing: no sum or product
// is under way.
bool may_repeat(const ir::Nest& nest, ir::LoopId loop);

}  // namespace lathe::analysis
