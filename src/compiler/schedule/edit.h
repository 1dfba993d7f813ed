// What steps do to a nest's tree and tables, and how they refuse.
#pragma once

#include <string>
#include <string_view>

#include "compiler/schedule/step.h"

namespace lathe::schedule {

std::unexpected<StepError> refuse(Refusal refusal, std::string_view subject);

StepResult<ir::LoopId> loop_named(const ir::Nest& nest, std::string_view name);
StepResult<ir::LoopId> place_named(const ir::Nest& nest, std::string_view name);  // empty: kRoot
StepResult<ir::BlockId> block_named(const ir::Nest& nest, std::string_view name);
StepResult<ir::BufferId> buffer_named(const ir::Nest& nest, std::string_view name);
StepResult<void> check_loop_name_free(const ir::Nest& nest, std::string_view name);
// For the names of a block and its buffer.
StepResult<void> check_new_name(const ir::Nest& nest, std::string_view name);

// The table entry for a size of a step. Refuses a number below `least`.
StepResult<ir::SizeId> resolve(ir::Nest& nest, const Size& size, std::int64_t least,
                               std::string_view subject);
// The weights of a dimension descend, or stand in any order.
StepResult<std::vector<ir::LayoutDigit>> resolve_layout(ir::Nest& nest,
                                                        const std::vector<LayoutItem>& items,
                                                        std::size_t dims, std::string_view subject,
                                                        bool any_order = false);

// Makes a new loop, child number `position` of `parent`, or the last child if position is -1. Its
// name must be free.
StepResult<ir::LoopId> add_loop(ir::Nest& nest, std::string name, ir::SizeId extent,
                                ir::LoopId parent, int position = -1);
void add_block(ir::Nest& nest, ir::Block block, ir::LoopId parent, int position = -1);
void insert_child(ir::Nest& nest, ir::LoopId parent, ir::Item child, int position = -1);
// True if one of the two touches what the other writes: they must keep their order.
bool depend(const ir::Nest& nest, ir::Item a, ir::Item b);
// Takes the block out of the tree, with the loops that contain nothing else (but not `keep` or a
// loop around it).
void detach_block(ir::Nest& nest, ir::BlockId block, ir::LoopId keep = ir::kRoot);
void remove_block(ir::Nest& nest, ir::BlockId block);

// The block of this name, if it can read a copy of the buffer that is made before all loops: it
// reads the buffer, which is complete before its outermost loop.
StepResult<ir::BlockId> reader_of_copy(const ir::Nest& nest, ir::BufferId buffer,
                                       const std::string& reader);
// Where among the loop's children a copy of the buffer is made for the reader: before it. A copy
// outside all loops is made as early as the buffer is there, so that it does not stand between
// loops that follow each other otherwise.
int place_of_copy(const ir::Nest& nest, ir::BufferId buffer, ir::LoopId loop, ir::BlockId reader);

// Replaces a loop in its parent's list of children.
void replace_child(ir::Nest& nest, ir::LoopId old_loop, ir::LoopId new_loop);
// Moves buffers that live at one loop to the other.
void move_buffers(ir::Nest& nest, ir::LoopId from, ir::LoopId to);

// Makes the block's reads of `from` reads of `to`; with `drop_pad`, without their pad value.
void redirect_reads(ir::Block& block, ir::BufferId from, ir::BufferId to, bool drop_pad);

// True if an intrinsic does the work of the loop or of a loop around it: nothing inside may change.
bool is_tensorized(const ir::Nest& nest, ir::LoopId loop);

// True if each iterator is one whole loop, all of them the block's own, at the top of the program.
bool has_first_loops(const ir::Nest& nest, ir::BlockId id);

// The iterator that alone, with coefficient 1, makes up an index row; -1 if the row is anything
// else.
int plain_iter(const ir::Affine& row);

// More iterations than a loop can need: a product of two lengths beyond 2^40, or a tile of more
// than 2^24 that is longer than its loop. Once such loops are fused, nobody can leave out what they
// do not compute. Of open sizes nothing is known.
bool is_too_long(const ir::Sizes& sizes, ir::SizeId outer, ir::SizeId inner);
bool is_tile_too_long(const ir::Sizes& sizes, ir::SizeId extent, ir::SizeId tile);

inline bool is_one(const ir::Sizes& sizes, ir::SizeId id) {
  return sizes.is_constant(id) && sizes.constant_value(id) == 1;
}

}  // namespace lathe::schedule
