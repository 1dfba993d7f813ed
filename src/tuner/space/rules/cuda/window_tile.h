// Windows (depthwise convolutions, pooling) and maps on a card: a thread has some rows and columns
// of the result, so that what a tap reads is there for the next one; threads next to each other
// have columns next to each other.
//
//   blocks x: tiles of vectors; y: tiles of rows; z: all else
//     threads z: the axis outside of rows; y: rows; x: vectors
//       taps, written out
//         the tile of a thread: rows by vectors, in registers
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tuner/space/rules/cuda/block_tile.h"
#include "tuner/space/rules/opencl/item_tile.h"

namespace lathe::space {

struct WindowSizes {
  std::int64_t width = 1;       // of vectors, in elements
  ir::SizeId v, p;              // the tile of a thread: vectors, and rows
  ir::SizeId of_v, of_p, of_b;  // threads of a block along vectors, rows, and the axis outside
  Staging input = Staging::kCache;
  WrittenTaps taps = WrittenTaps::kAll;
};

// How a stage is one: its axes, and what it reads in windows.
struct WindowAxes {
  int v = -1, p = -1, b = -1;       // the last iterator, the one before it, and the next; -1: none
  const ir::Read* input = nullptr;  // null: no window
};
// -1 as `v`: it is none.
WindowAxes window_axes_of(const ItemStage& stage);

// Throws StepRefused.
void put_windows_on_blocks(const ItemStage& stage, const WindowAxes& axes, const WindowSizes& sizes,
                           ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed);

}  // namespace lathe::space
