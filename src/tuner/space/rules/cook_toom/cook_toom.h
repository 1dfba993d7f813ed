// Cook-Toom algorithms of a program's main sum (compiler/schedule/steps/cook_toom.h): which there
// are, their knobs, and their sketches.
//
// The transform of the input, the sums of products and the transform back meet at a block of tiles;
// or the input is transformed whole before. Lanes run along the results' axis that the filter has
// and the input has not. The products have a register tile of vectors along that axis by tiles
// along one or two image axes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/rules/cook_toom/algorithms.h"
#include "tuner/space/rules/cook_toom/image_sum.h"
#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// Where the transformed input is made.
enum class InputPlace { kBlock, kWhole };
// Whether a copy of the input is transformed, with zeros around and channels innermost: of what a
// block of tiles needs, or a row of tiles at a time.
enum class InputCopy { kNone, kBlock, kRow };
// What threads share: blocks of tiles, or blocks of results along the vector axis, or several loops
// together, the outer iterators of the result being the batch. With the input in blocks, blocks of
// tiles are outermost; with the whole input, blocks of results are. Or they meet after the products
// of the whole input, too, and share those of each position.
enum class TileShare {
  kTiles,
  kResults,
  kResultsAndTiles,
  kBatchAndTiles,
  kBatchAndResults,
  kAll,
  kPositions
};

std::string label_of(InputPlace place);  // "block"
std::string label_of(InputCopy copy);    // "none"
std::string label_of(TileShare share);   // "tiles"

// Dimensions of the tensor of products, by what they are.
struct ProductDims {
  std::vector<int> outer, positions, tiles;  // strands are among the tiles
  int vector = -1;
};
ProductDims product_dims(const ImageSum& sum, const Algorithm& algorithm);

// Numbers of the knobs; -1: this program has no such knob.
struct CookToomKnobs {
  int algorithm = -1, place = -1, copy = -1, share = -1;
  int tile_v = -1, tile_p0 = -1, tile_p1 = -1;
  // Blocks: rows of tiles, and tiles of a row; vectors of results
  int block_t = -1, block_p0 = -1, block_v = -1;
  int unroll = -1, prefetch = -1, next_panels = -1;
};

struct CookToomRule {
  Prepared prepared;  // with stages inlined, no reduction split
  CpuTarget target;
  ImageSum sum;
  int lanes = 1;
  std::vector<schedule::Layout> layouts;  // of inputs and outputs
  std::vector<Algorithm> algorithms;      // values of the knob; the first is direct
  bool may_be_direct = true;              // the contract allows it
  // Of several threads, what the one that does most of the direct sum takes.
  double direct_cycles = 0;
  std::vector<InputPlace> places;
  std::vector<InputCopy> copies;
  std::vector<TileShare> shares;
  CookToomKnobs at;
};

// Nothing where the main sum has no taps, or where lanes would not run along a free axis, or where
// only the direct algorithm is left. Refuses an algorithm of the contract that there is not.
Result<std::optional<CookToomRule>> cook_toom_rule(const CpuContext& context,
                                                   const std::vector<schedule::Layout>& layouts);
Result<std::unique_ptr<Alternatives>> offer_cook_toom(const CpuContext& context);
std::span<const Meaning> cook_toom_meanings();

}  // namespace lathe::space
