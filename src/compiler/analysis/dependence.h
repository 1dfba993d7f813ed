// Answers who writes, who reads, and in which order: what a step asks before it moves something.
#pragma once

#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

// True if `inner` is a loop in the body of `outer`, at any depth. Every loop is strictly inside
// kRoot.
bool is_strictly_inside(const ir::Nest& nest, ir::LoopId inner, ir::LoopId outer);

bool reads(const ir::Block& block, ir::BufferId buffer);
// True if a block inside `loop` reads it at computed places (ir::Lookup): any element, perhaps.
bool is_looked_up(const ir::Nest& nest, ir::BufferId buffer, ir::LoopId loop = ir::kRoot);
// Both list blocks inside `loop`, in tree order.
std::vector<ir::BlockId> readers_of(const ir::Nest& nest, ir::BufferId buffer,
                                    ir::LoopId loop = ir::kRoot);
std::vector<ir::BlockId> writers_of(const ir::Nest& nest, ir::BufferId buffer,
                                    ir::LoopId loop = ir::kRoot);

// The loops that are shared out among the items of a group: `loop`, if it is one, and those around
// it, outermost first.
std::vector<ir::LoopId> item_loops_around(const ir::Nest& nest, ir::LoopId loop);

// True if an iterator of the block has a digit of the loop; of those in a row of an index, or in
// one of its rows.
bool is_driven_by(const ir::Block& block, ir::LoopId loop);
bool is_driven_by(const ir::Block& block, const ir::Affine& row, ir::LoopId loop);
bool is_driven_by(const ir::Block& block, const std::vector<ir::Affine>& index, ir::LoopId loop);

// The position among children(loop) of the child that contains the block; -1 if none does.
int child_with(const ir::Nest& nest, ir::LoopId loop, ir::BlockId block);

// True if `loop`, or a loop around it, is a reduction loop of `block`: one iteration of `loop` has
// then completed only a part of the sum.
bool is_partial_at(const ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

// True if the block depends on a sum over `loop`, directly or through other blocks inside it, and
// is no write-back.
bool needs_sum_over(const ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

// The same of a block that the loop does not move: it then waits for the loop's last iteration.
bool waits_for(const ir::Nest& nest, ir::BlockId block, ir::LoopId loop);

// The loops around `block` that contain nothing else, outermost first, without `keep` and the loops
// around it.
std::vector<ir::LoopId> own_loops(const ir::Nest& nest, ir::BlockId block, ir::LoopId keep);

// True if other loops may drive the block's iterators: each iterator is an index of the element
// written, or runs over a reduction of its own. (After rfactor, one loop drives both an index and a
// part of what is summed.) A scan stays where it is.
bool can_be_placed_anew(const ir::Nest& nest, ir::BlockId block);

// True if a block that writes the buffer is inside `loop` or inside a loop around it: then only a
// part of the buffer is there.
bool is_in_the_making(const ir::Nest& nest, ir::BufferId buffer, ir::LoopId loop);

// Where a write-back fills the buffer: the loops around it that go on with the sum, so that what it
// stores is read again. None where every element is stored once it is complete.
std::vector<ir::LoopId> resumed_over(const ir::Nest& nest, ir::BufferId buffer);

// True if recomputing some elements at the end of `loop` (Tail::kShift) changes nothing, because no
// sum or product is under way.
bool may_repeat(const ir::Nest& nest, ir::LoopId loop);

}  // namespace lathe::analysis
