// Cook-Toom algorithms of a program's main sum (compiler/schedule/steps/cook_toom.h): which there
// are, their knobs, and their sketches.
//
// The transform of the input, the sums of products and the transform back meet at a block of tiles;
// or the input is transformed whole before. Lanes run along the results' axis that the filter has
// and the input has not. The products have a register tile of vectors along that axis by tiles
// along one or two image axes.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cook_toom/matrices.h"
#include "tuner/space/rules/prepare.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// An axis of the image: results y, read at stride*y + dilation*tap + what other iterators shift.
struct ImageAxis {
  std::string iter, tap;  // iterators of the block
  std::int64_t extent = 0, taps = 0, stride = 1, dilation = 1;
  int input_dim = -1, filter_dim = -1;
  int shifts = 0;  // other iterators in the input's dimension

  cook_toom::Strands strands() const { return cook_toom::strands_of(stride, dilation); }
  cook_toom::Residues residues() const {
    return cook_toom::residues_of(taps, strands().inner_stride);
  }
  // Results that tiles of one strand compute together.
  std::int64_t results() const { return strands().longest(extent); }
};

// F(m x n): so many results together along each tap. No taps: the sum as it is written.
struct Algorithm {
  std::vector<std::string> taps;  // iterators of the block
  std::vector<std::int64_t> tiles;

  bool transforms(const ImageAxis& axis) const;
};
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

std::string label_of(const Algorithm& algorithm);  // "direct", "F(4x4)", "F(4) along s"
std::string label_of(InputPlace place);            // "block"
std::string label_of(InputCopy copy);              // "none"
std::string label_of(TileShare share);             // "tiles"

// What the iterators of a sum over neighbours are for.
struct ImageSum {
  std::string block, input;        // the input is a tensor
  std::vector<std::string> outer;  // of the result, none of the below
  std::int64_t outer_extent = 1;   // of all these together
  std::int64_t input_extent = 1;   // of those of them that move the input
  std::string vector;
  std::int64_t vector_extent = 0;
  int vector_dim = -1;          // of the filter
  std::vector<ImageAxis> axes;  // one or two, outer first
  std::string channels;         // the reduction that is neither of an axis
  std::int64_t channel_extent = 0;
  int input_channels = -1, filter_channels = -1;
  int input_dims = 0, filter_dims = 0;
  int result_dims = 0;
  std::vector<std::string> result;  // iterators by dimension
};

// The sum of a stage as one over neighbours in an image; else why it is none.
std::expected<ImageSum, std::string> image_sum_of(const te::Workload& view, const te::Stage& stage);

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
  int unroll = -1, prefetch = -1;
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
Result<std::optional<CookToomRule>> cook_toom_rule(const te::Workload& workload,
                                                   const CpuTarget& target,
                                                   const std::vector<schedule::Layout>& layouts);
// Adds the knobs; `knobs` may have others already.
void list_knobs(CookToomRule& rule, std::vector<Knob>& knobs);
void list_constraints(const CookToomRule& rule, Derived& derived);
// Starts from the algorithm that promises the least time; the direct one's knobs are set already.
// Other starts are of the algorithms that promise little less.
void set_starts(const CookToomRule& rule, Derived& derived);

// For values of which the algorithm is not direct.
Result<Sketch> build_cook_toom_sketch(const CookToomRule& rule, const std::vector<Knob>& knobs,
                                      std::span<const std::int64_t> values);

}  // namespace lathe::space
