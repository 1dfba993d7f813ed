// Recurrences with sums on devices whose kernels run on grids. Items of different groups do not
// wait for each other, so an item goes through all steps alone, for rows that need nothing of
// others: the batch of a recurrent layer, each row of top_k. Where there are none, one item does
// all.
#pragma once

#include <set>
#include <span>
#include <string>

#include "tuner/space/rules/opencl/grid_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// Puts the recurrence of which the tensor's stage is one on a grid, with groups of so many items.
void put_steps_on_grid(const std::string& tensor, ir::SizeId items, ir::Nest& nest,
                       schedule::Trace& trace);
// The tensors whose stages are in the loop over steps that is around this one.
std::set<std::string> companions_in_steps(const ir::Nest& nest, const std::string& tensor);

// True if this rule derives the space: stages need each other step by step, and no scan leads.
bool is_led_by_steps(const GridContext& context);
// A knob for the items of a group; other stages have fixed tiles.
Result<Derived> derive_steps(const GridContext& context);
std::span<const Meaning> grid_step_meanings();

}  // namespace lathe::space
