// The knobs of the register-tile rule, for the part that lists them and the part that builds
// sketches.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/rules/axes.h"
#include "tuner/space/rules/choices.h"
#include "tuner/space/rules/prepare.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// Numbers of the knobs; -1: this program has no such knob.
struct TileKnobs {
  int vector = -1;  // which axis is vectorized
  int order = -1;   // of the loops outside the register tile
  int taps = -1;    // order within the reduction
  // The register tile: vectors, and pixels of the inner and the outer axis.
  int tile_v = -1, tile_p0 = -1, tile_p1 = -1;
  // Cache blocks, in tiles, tiles and reduction elements
  int block_v = -1, block_p = -1, block_k = -1;
  int unroll_k = -1;
  int pack_w = -1, pack_x = -1;
  int prefetch = -1;  // how many bytes ahead in the packed weights
  int parallel = -1;
};

// How one stage is tiled.
struct TileRule {
  te::Workload workload;  // as prepared: stages are what is left to schedule
  CpuTarget target;
  std::vector<Axes> axes;  // values of the vector knob
  int lanes = 1;
  TileKnobs at;
  int first = 0;  // number in the space of the first of the knobs; `at` counts from it
  // Loops around the stage come back to the operand that is read in vectors.
  bool comes_back = false;
  std::vector<Knob> knobs;
  // Values of the other structural knobs.
  std::vector<LoopOrder> orders;
  std::vector<ReduceOrder> reduce_orders;
  std::vector<Packing> weight_packings, input_packings;
  std::vector<SharedLoop> shared_loops;

  // Elements of the reduction that lie together in the input's layout; 1 if that layout is
  // row-major.
  std::int64_t channel_block(const Axes& axes) const;
};

// Elements along an iterator of the stage; 1 for -1.
std::int64_t extent_of(const TileRule& rule, const Axes& axes, int iter);
int pixel_axis(const Axes& axes, std::size_t which);  // -1: there are not so many
// True if every operand has all axes of the register tile, so that a tile uses nothing twice.
bool streams(const TileRule& rule, const Axes& axes);
// True if a tile's pixels lie along the operand that is read as vectors, as in windows that slide
// over a plane: rows of taps that are written out together read each vector once.
bool slides(const TileRule& rule);
inline constexpr std::int64_t kShortWindow = 8;  // taps; longer rows are not written out whole
// Values of the knobs for the analytic default: the structural ones by position.
std::vector<std::int64_t> tile_start(const TileRule& rule);

// A program with the stage for which the space has knobs, and with the other reductions that are
// worth a tile; their sizes are fixed.
struct Tiling {
  struct Companion {
    TileRule rule;
    std::vector<std::int64_t> values;  // of its knobs
  };
  Prepared prepared;
  TileRule main;
  std::vector<Companion> companions;
  std::vector<std::int64_t> fixed;  // of the main rule's knobs, where the space has none of them
  std::vector<std::vector<std::string>> joined;  // loops over rows that become one, by axis
  int threads = 1;                               // that share these
  std::set<int> apart;  // tensors whose stages are not in these loops: threads share each
};

TileRule tile_rule_for(const te::Workload& view, int stage, const CpuTarget& target,
                       Flavour flavour);
// What the register tile needs must fit the registers.
void add_constraints(const TileRule& rule, Derived& derived);
// The analytic default, among the values of the knobs.
std::vector<std::int64_t> settled_start(const TileRule& rule);
// Tiles the other reductions with a share of the work by their starting values.
std::vector<Tiling::Companion> companions_of(
    const te::Workload& view, int main, const CpuTarget& target,
    const std::map<int, std::set<int>>& same = {});  // Grouped::same
// Notes that blocks of rows come back to what is the same for them all.
void note_rows(TileRule& rule, const std::map<int, std::set<int>>& same);

// Free inputs and outputs get the vector axis, in blocks of a vector, at the end; inputs get the
// reduction axis like that, too.
std::vector<schedule::Layout> free_layouts_of(const TileRule& rule, const Axes& axes);

Result<Sketch> build_tile_sketch(const Tiling& tiling, std::span<const std::int64_t> values);

}  // namespace lathe::space
