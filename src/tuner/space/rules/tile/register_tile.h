// The knobs of the register-tile rule, for the part that lists them and the part that builds
// sketches.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// Numbers of the knobs; -1: this program has no such knob.
struct TileKnobs {
  int vector = -1;  // which axis is vectorized
  int order = -1;   // of the loops outside the register tile
  int taps = -1;    // order within the reduction
  // The register tile: vectors, and pixels of the inner and the outer axis.
  int tile_v = -1, tile_p0 = -1, tile_p1 = -1;
  // Cache blocks, in tiles, those of the outer pixel axis and of the inner one, and in reduction
  // elements
  int block_v = -1, block_p = -1, block_q = -1, block_k = -1;
  int unroll_k = -1;
  int pack_w = -1, pack_x = -1;
  int panels = -1;       // how wide those of packed weights are
  int prefetch = -1;     // how many bytes ahead in the packed weights
  int next_panels = -1;  // how many panels of them ahead, while tiles read one
  int parallel = -1;
};

// How one stage is tiled.
struct TileRule {
  te::Workload workload;  // as prepared: stages are what is left to schedule
  CpuTarget target;
  std::vector<Axes> axes;  // values of the vector knob
  int lanes = 1;
  TileKnobs at;
  // Loops around the stage come back to the operand that is read in vectors.
  bool comes_back = false;
  std::vector<Knob> knobs;
  // Values of the other structural knobs.
  std::vector<LoopOrder> orders;
  std::vector<ReduceOrder> reduce_orders;
  std::vector<Packing> weight_packings, input_packings;
  std::vector<Panels> panels;
  bool packs_constants = false;  // constant weights are packed, whatever their knob says
  std::vector<SharedLoop> shared_loops;
  std::int64_t part = 0;  // terms of a part of the reduction that threads share; 0: it has none

  // Elements of the reduction that lie together in the input's layout; 1 if that layout is
  // row-major.
  std::int64_t channel_block(const Axes& axes) const;
};

// With shorter vectors, multiply-adds take long enough for operands to come from beyond the caches.
inline bool has_long_vectors(const TileRule& rule) { return rule.target.vector_bits >= 512; }
// Elements along an iterator of the stage; 1 for -1.
std::int64_t extent_of(const TileRule& rule, const Axes& axes, int iter);
int pixel_axis(const Axes& axes, std::size_t which);              // -1: there are not so many
bool is_constant(const TileRule& rule, const ir::Read* operand);  // false of none
// True if every operand has all axes of the register tile, so that a tile uses nothing twice.
bool streams(const TileRule& rule, const Axes& axes);
// True if a tile's pixels lie along the operand that is read as vectors, as in windows that slide
// over a plane: rows of taps that are written out together read each vector once.
bool slides(const TileRule& rule);
inline constexpr std::int64_t kShortWindow = 8;  // taps; longer rows are not written out whole
// The loops of the batch that are shared: as many as give every thread about as much to do, or all
// of them where blocks of an axis are shared, too. `parts`: of loops outside, which are shared.
std::vector<int> shared_batch(const TileRule& rule, const Axes& axes, SharedLoop loop,
                              std::int64_t parts = 1);

// The cycles of the one of several threads that does most, and what of them other stages take.
struct SharedCost {
  double cycles = 0, rest = 0;
};
// A stage with its tile, and where the knobs of that are among those of the space.
struct TiledStage {
  TileRule rule;
  std::vector<std::int64_t> start;  // of its knobs: what those have that the space does not
  SharedCost cost;                  // of several threads with it
  std::string prefix;               // of their names in the space
  // By knob: its number in the space; -1: the space does not have it.
  std::vector<int> numbers;
  // By knob: several tiles share the space's, which has values that this one does not. Of a
  // structural one: what each of the space's values is here.
  std::vector<bool> shared;
  std::vector<std::vector<std::int64_t>> choices;

  // The position of what a structural knob chooses, given the values of the space's knobs.
  std::int64_t choice(int knob, std::span<const std::int64_t> values) const;
};

// A program whose reductions that are worth it are tiled.
struct Tiling {
  Prepared prepared;
  TiledStage main;
  std::vector<TiledStage> companions;
  CpuTarget target;
  te::Workload sizes;  // a view in which stages have all their iterations; none: as in `prepared`
  // Groups of stages of which rows go together: the loops over rows that become one, by axis.
  std::vector<std::vector<std::vector<std::string>>> joined;
  std::set<int> grouped;  // tensors that stages of these compute: each thread has its rows
  // The same with the main reduction in parts, whose knobs are those of `main`; null: it has none.
  std::shared_ptr<const Tiling> parts;
};

// Without axes: it has none that lanes could run along. `steps`: of classify().
TileRule tile_rule_for(const te::Workload& view, int stage, const CpuTarget& target,
                       Flavour flavour, const std::set<std::string>& steps = {});
// What the register tile needs must fit the registers.
void add_constraints(const TiledStage& stage, Derived& derived);
// The stage with this tile and its start; the space has none of its knobs yet.
TiledStage tiled(TileRule rule);
// The other reductions with a share of the work. `sizes` is a view in which stages have all their
// iterations.
std::vector<TiledStage> companions_of(const te::Workload& view, int main, const CpuTarget& target,
                                      const te::Workload& sizes,
                                      const std::map<int, std::set<int>>& same = {},  // Grouped
                                      const std::set<int>& grouped = {},
                                      const std::set<std::string>& steps = {});
// Notes that blocks of rows come back to what is the same for them all.
void note_rows(TileRule& rule, const std::map<int, std::set<int>>& same);

}  // namespace lathe::space
