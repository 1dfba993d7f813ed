// A program as the sum of its blocks: rows for models that score each block and add the scores up.
//
// A row has kWholeWidth columns of the whole program, and then block_width() columns for each of
// kBlocks blocks that run with the program. A block's begin with 1; where there is none, all are 0.
// The main block comes first, then the others, the one with the most iterations first; of more than
// kBlocks, the last are left out.
//
// They are the context of the block's innermost kBlockLoops loops, and the globals of plan.h as
// they are for this block. The columns of the whole tell what no block shows: the work of all
// reductions, by which the algorithms of a sum differ (a Cook-Toom algorithm has fewer products),
// how much is kept between blocks and for how long, the bytes of constants, and how often threads
// start and meet.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/nest/nest.h"
#include "tuner/feature/plan.h"

namespace lathe::feature {

inline constexpr int kBlocks = 8;
inline constexpr int kBlockLoops = 8;
inline constexpr int kWholeWidth = 10;

class BlocksPlan {
 public:
  explicit BlocksPlan(const ir::Nest& nest);
  // `values` are the values of the sizes of the plan's nest; out has room for blocks_width()
  // floats.
  void row(std::span<const std::int64_t> values, float* out) const;

 private:
  struct BlockPlan {
    Plan plan;
    bool reduces;
    bool sparse;    // a sum by a sparse literal, as the transforms of Cook-Toom algorithms are
    bool products;  // a sum of products of two operands, none of them a literal
    int held_at;    // loops inside the place of what it writes; -1: it writes no scratch
    bool outside;   // that place is outside of all loops
  };
  void whole(std::span<const analysis::Footprint> footprints, float* out) const;
  void columns(const BlockPlan& own, const analysis::Footprint& f,
               std::span<const std::int64_t> values, float* out) const;

  std::vector<BlockPlan> blocks_;  // the main block comes first
  int regions_ = 0;                // parallel loops that are not inside others
};

int block_width();
int blocks_width();
std::vector<std::string> blocks_names();

}  // namespace lathe::feature
