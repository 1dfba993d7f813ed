// A sum of products on a card: a block of threads makes a tile of results, for which it brings both
// operands into its shared memory, a chunk of the sum at a time.
//
//   blocks y: parts of the sum, summed up by a second kernel; x: the batch, tiles of pixels and of
//   vectors
//     threads z: groups that share each chunk; x, y: pixels and vectors of the block's tile
//       chunks of the sum, copied into shared memory by all threads
//         terms of the chunk, taps
//           the tile of a thread: pixels by vectors, in registers
//     threads in turns: the sums of the groups, added up in their order
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/rules/opencl/item_tile.h"

namespace lathe::space {

// Where threads read an operand.
enum class Staging : std::uint8_t { kShared, kCache };
// Which taps of a convolution are written out.
enum class WrittenTaps : std::uint8_t { kNone, kLast, kAll };
// Threads with neighbouring numbers have neighbouring pixels, or vectors.
enum class LaneOrder : std::uint8_t { kPixels, kVectors };

// The sizes of the tiles: numbers, or sizes with knobs.
struct BlockSizes {
  std::int64_t width = 1;  // of a vector, in elements
  ir::SizeId v, p0, p1;    // a thread's tile: vectors, elements of the inner and outer pixel axis
  ir::SizeId of_v, of_p0, of_p1;  // threads of a block along these
  ir::SizeId chunk;               // terms of the blocked reduction that a thread sums a chunk
  ir::SizeId unroll;              // of these, those that are written out
  ir::SizeId groups, parts;       // that share the sum: of a block's threads, and of blocks
  ir::SizeId pad;                 // elements between rows of the input in shared memory
  bool has_groups = false, has_parts = false, has_pad = false;
  Staging weights = Staging::kShared, input = Staging::kShared;
  int stages = 1;
  WrittenTaps taps = WrittenTaps::kAll;
  LaneOrder lanes = LaneOrder::kPixels;
};

// True if the stage is a sum that such a tile is for: two operands, each without an axis of the
// result that the other has.
bool is_for_blocks(const ItemStage& stage);
// Of the classifications of a stage the one whose vectors are of constant weights; else the first
// that a tile is for. None if there is none.
std::vector<Axes> axes_of_blocks(const te::Workload& view, int stage);

// Elements that one copy along this dimension has: a vector where rows begin at multiples of it,
// and blocks need more than one element of a row.
std::int64_t lanes_of_copy(const ItemStage& stage, const ir::Read& read, int dim);
// The dimension of what the input is read from along which its elements lie in shared memory.
int dim_along_pixels(const ItemStage& stage);
// True if elements of the input are copied one by one, in the order in which they lie: then its
// rows may have any length in shared memory.
bool may_pad_rows(const ItemStage& stage);

// Puts the stage on a grid, with the maps of its result that can follow it there, whose names are
// added to `placed`. Throws StepRefused.
void put_on_blocks(const ItemStage& stage, const BlockSizes& sizes, ir::Nest& nest,
                   schedule::Trace& trace, std::set<std::string>& placed);

}  // namespace lathe::space
