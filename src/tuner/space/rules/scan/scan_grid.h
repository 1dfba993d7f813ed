// Scans on devices whose kernels run on grids: each item goes along the axis for one row or column.
#pragma once

#include <span>
#include <string>

#include "tuner/space/rules/opencl/grid_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// Puts the scan on a grid, with groups of so many items; without other axes one item computes it.
// Throws StepRefused.
void put_scan_on_grid(const std::string& tensor, ir::SizeId items, ir::Nest& nest,
                      schedule::Trace& trace);

// True if this rule derives the space, instead of that of items.
bool is_led_by_scan(const GridContext& context);
// A knob for the items of a group of the leading scan; other stages have fixed tiles.
Result<Derived> derive_scans(const GridContext& context);
std::span<const Meaning> grid_scan_meanings();

}  // namespace lathe::space
