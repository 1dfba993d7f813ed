// A stage on a grid: groups of work items along its axes, and in each item a tile of results.
//
//   groups z: the batch, and tiles of the outer pixel axis; y: of the inner one; x: of vectors
//     items y, x: tiles of the inner pixel axis, and of vectors
//       chunks of the reduction, for which the items bring the operands into memory of the group
//         the reduction, its innermost loop unrolled
//           the tile: pixels by vectors, in registers
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/stepper.h"

namespace lathe::space {

// The sizes of a stage's tiles and groups: numbers, or sizes with knobs.
struct ItemSizes {
  std::int64_t width = 1;  // of a vector, in elements: 1, 2, 4, 8 or 16
  ir::SizeId v, p0, p1;    // the tile: vectors, and elements of the inner and the outer pixel axis
  ir::SizeId group_x, group_y;  // items of a group
  ir::SizeId unroll;            // steps of the reduction that are written out
  ReduceOrder order = ReduceOrder::kTapsOutside;
  std::int64_t copying = 1;              // items of a group that copies
  Packing weights = Packing::kNone;      // of the operand that is read as vectors: none, or whole
  bool staged = false;                   // operands go through memory of the group
  ir::SizeId chunk = ir::SizeId::kNone;  // steps of the reduction that are staged at a time
};

// A stage with its axes; none: it has no axis but reductions.
struct ItemStage {
  const te::Workload* view = nullptr;
  int stage = -1;
  Axes axes;

  const te::Stage& get() const { return view->stages[static_cast<std::size_t>(stage)]; }
  std::int64_t extent(int iter) const {
    return iter < 0 ? 1 : get().iters[static_cast<std::size_t>(iter)].extent;
  }
  int pixel(std::size_t which) const {
    return which < axes.pixels.size() ? axes.pixels[which] : -1;
  }
};

// True if vectors of the operand lie apart, so that a copy may bring them together.
bool has_strided_weights(const ItemStage& stage);

// Puts the stage on a grid, with the maps of its result that can follow it there, whose names are
// added to `placed`. Throws StepRefused.
void put_on_grid(const ItemStage& stage, const ItemSizes& sizes, ir::Nest& nest,
                 schedule::Trace& trace, std::set<std::string>& placed);

}  // namespace lathe::space
