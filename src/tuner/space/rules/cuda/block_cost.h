// What the model of cards (tuner/space/card_cost.h) looks at of a tile of a block, for the starts
// of a search: without a nest, for very many tiles.
#pragma once

#include "tuner/space/card_cost.h"
#include "tuner/space/rules/cuda/block_space.h"

namespace lathe::space {

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

  double conflicts_of(const BlockTiling& t) const;
  double staged_bytes(const BlockTiling& t) const;  // of a chunk
  double cycles_of(const BlockTiling& t) const;
  double taps() const { return taps_; }
  std::int64_t terms() const { return terms_; }

 private:
  CardWork work_of(const BlockTiling& t) const;
  double reach(const BlockTiling& t, int iter, bool of_thread) const;
  double extent_of(const BlockTiling& t, const ir::Affine& row, bool of_thread) const;
  double elements(const BlockTiling& t, const ir::Read* read, bool of_thread) const;
  double copies(const BlockTiling& t, double threads) const;
  static double cycles_of_vector(const BlockTiling& t);
  double cycles_of_read(const BlockTiling& t) const;
  const ir::Affine* row_of(int iter) const;

  const BlockRule& rule_;
  const ItemStage& main_;
  std::int64_t extent_v_ = 1, extent_p0_ = 1, extent_p1_ = 1, terms_ = 1;
  double batch_ = 1, taps_ = 1, bytes_of_sum_ = 4;
};

}  // namespace lathe::space
