// A rough model of the time of a tile of a block on a card: latency, instructions, shared memory,
// copies, waves of blocks. The analytic default and the starts of a search come from it, and scores
// before anything is measured.
#pragma once

#include <span>

#include "tuner/space/rules/cuda/block_space.h"

namespace lathe::space {

// What the model looks at of a block; all numbers are counts.
struct BlockWork {
  double threads = 0, blocks = 0;
  double instructions = 0;           // of one thread, over its whole sum
  double shared_cycles = 0;          // that one warp keeps the unit for loads and stores busy
  double chunks = 0;                 // for each of which threads meet
  double last = 0;                   // cycles of that unit for a block's sums, added up and stored
  double staged = 0;                 // bytes that a block copies
  double registers = 0, shared = 0;  // of a thread, in number; of a block, in bytes
  double parts = 0;  // bytes of partial results that the second kernel reads; 0: there is none
  int stages = 2;
};
// Cycles, roughly.
double cycles_of(const BlockWork& work, const CudaTarget& card);

// A way to tile, without the structural knobs.
struct BlockTiling {
  std::int64_t v = 1, p0 = 1, p1 = 1, of_v = 1, of_p0 = 1, of_p1 = 1;
  std::int64_t groups = 1, parts = 1, chunk = 1;
  LaneOrder lanes = LaneOrder::kPixels;
  int stages = 2;
  std::int64_t pad = 0;
  double conflicts = 1;  // of a warp's load along pixels, in accesses to one bank
  double cycles = 0;
};

class BlockModel {
 public:
  explicit BlockModel(const BlockRule& rule);

  // The rule's knobs have these values.
  BlockTiling tiling_of(std::span<const std::int64_t> values) const;
  double conflicts_of(const BlockTiling& t) const;
  double staged_bytes(const BlockTiling& t) const;  // of a chunk
  double cycles_of(const BlockTiling& t) const;
  double taps() const { return taps_; }
  std::int64_t terms() const { return terms_; }

 private:
  double reach(const BlockTiling& t, int iter, bool of_thread) const;
  double extent_of(const BlockTiling& t, const ir::Affine& row, bool of_thread) const;
  double elements(const BlockTiling& t, const ir::Read* read, bool of_thread) const;
  double copies(const BlockTiling& t, double threads) const;
  double cycles_of_read(const BlockTiling& t) const;
  const ir::Affine* row_of(int iter) const;
  BlockWork work_of(const BlockTiling& t) const;

  const BlockRule& rule_;
  const ItemStage& main_;
  std::int64_t extent_v_ = 1, extent_p0_ = 1, extent_p1_ = 1, terms_ = 1;
  double batch_ = 1, taps_ = 1;
};

}  // namespace lathe::space
