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
// for a block and its buffer
StepResult<void> check_new_name(const ir::Nest& nest, std::string_view name);

// The table entry for a size in a step, at least `least` if it is a number.
StepResult<ir::SizeId> resolve(ir::Nest& nest, const Size& size, std::int64_t least,
                               std::string_view subject);
StepResult<std::vector<ir::LayoutDigit>> resolve_layout(ir::Nest& nest,
                                                        const std::vector<LayoutItem>& items,
                                                        std::size_t dims, std::string_view subject);

// A new loop as child number `position` of `parent`; appended if position is -1. Its name must be
// free.
StepResult<ir::LoopId> add_loop(ir::Nest& nest, std::string name, ir::SizeId extent,
                                ir::LoopId parent, int position = -1);
void add_block(ir::Nest& nest, ir::Block block, ir::LoopId parent, int position = -1);
void insert_child(ir::Nest& nest, ir::LoopId parent, ir::Item child, int position = -1);
// Takes the block out of the tree, with the loops that only it is in (but none around or equal to
// `keep`).
void detach_block(ir::Nest& nest, ir::BlockId block, ir::LoopId keep = ir::kRoot);
void remove_block(ir::Nest& nest, ir::BlockId block);

// Replaces a loop in its parent's list of children.
void replace_child(ir::Nest& nest, ir::LoopId old_loop, ir::LoopId new_loop);
// Buffers that live at one loop move to the other.
void move_buffers(ir::Nest& nest, ir::LoopId from, ir::LoopId to);

// Reads of `from` in the block become reads of `to`, without their pad value if told so.
void redirect_reads(ir::Block& block, ir::BufferId from, ir::BufferId to, bool drop_pad);

// The loop, or one around it, is done by an intrinsic: nothing inside may change.
bool is_tensorized(const ir::Nest& nest, ir::LoopId loop);

// The iterator an index row consists of alone, with coefficient 1; -1 if it is anything else.
int plain_iter(const ir::Affine& row);

inline bool is_one(const ir::Sizes& sizes, ir::SizeId id) {
  return sizes.is_constant(id) && sizes.constant_value(id) == 1;
}

}  // namespace lathe::schedule
