// What knobs choose among: values of sizes, and choices of the structural knobs of the
// register-tile rule. Each choice has a label, by which records and recordings know it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::space {

// The axes of a register tile.
enum class TileAxis { kVector, kPixels, kReduction };

// The order of the loops outside the register tile, from outside in.
struct LoopOrder {
  std::vector<TileAxis> blocks;  // loops over cache blocks
  std::vector<TileAxis> tiles;   // loops over a block's tiles
  friend bool operator==(const LoopOrder&, const LoopOrder&) = default;
};
// How an operand is copied into the order in which the loops read it.
enum class Packing { kNone, kBlock, kWhole };
// How wide panels of packed weights are: as the register tile, or a vector each, so that a tile
// reads several of them side by side.
enum class Panels { kTile, kVector };
// What is outer within a block's reduction.
enum class ReduceOrder { kChannelsOutside, kTapsOutside };
// The loops that the threads share: over cache blocks of an axis, or of the batch, or over two or
// all of these together; or parts of the reduction, whose partial results are summed up afterwards;
// none, where one thread does everything.
enum class SharedLoop {
  kVectorBlocks,
  kPixelBlocks,
  kBatch,
  kNone,
  kVectorsAndPixels,
  kBatchAndVectors,
  kBatchAndPixels,
  kReduction,
  kAll
};
bool shares_batch(SharedLoop loop);
// The axes whose cache blocks are shared.
std::vector<TileAxis> shared_axes(SharedLoop loop);

// Values of a size's knob: those of a list up to `most`, or 1 alone; 1, 2, 4 ... and `all` itself.
std::vector<std::int64_t> up_to(std::vector<std::int64_t> values, std::int64_t most);
std::vector<std::int64_t> powers_and(std::int64_t all);
// The same for blocks of what there is `all` of; where several threads share them, of any number
// up to 16, and those that make up to 16 blocks.
std::vector<std::int64_t> blocks_of(std::int64_t all, int threads);

std::string label_of(const LoopOrder& order);  // "VPK.vp"
std::string label_of(Packing packing);         // "none"
std::string label_of(Panels panels);           // "tile"
std::string label_of(ReduceOrder order);       // "taps outside"
std::string label_of(SharedLoop loop);         // "batch"

}  // namespace lathe::space
