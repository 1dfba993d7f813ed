// What a register tile costs with several threads, by what they share: the cycles until the last of
// them is done. Only sources of the register-tile rule include this.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/space/rules/shared/busiest.h"
#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

// What threads share, in which order of loops and blocks of how many tiles, and who copies what.
struct SharedChoice {
  SharedLoop loops = SharedLoop::kNone;
  Packing weights = Packing::kNone, input = Packing::kNone;
  std::int64_t order = 0, block_v = 1, block_p = 1, block_q = 1;
};

// Blocks of an axis of the tile, by the knob that says how large they are; -1: there is one.
struct BlockedAxis {
  int iter, knob;
  std::int64_t tile;  // elements in a tile
};

class SharedTile {
 public:
  // `start`: values of the knobs, of which the tile's count; it takes `slowness` times as long as
  // the peak. Both it and the rule must outlive this.
  SharedTile(const TileRule& rule, const std::vector<std::int64_t>& start, double slowness);

  // Of the thread that does most.
  double cycles(const SharedChoice& choice) const;
  std::int64_t parts(const SharedChoice& choice) const;
  // What of that other stages take, which threads share.
  double shared_rest() const;
  // Outer ones first.
  std::vector<BlockedAxis> blocked(TileAxis axis) const;
  SharedAxis blocks(const BlockedAxis& axis, std::int64_t block) const;

 private:
  struct Operand {
    const ir::Read* read;
    double elements = 1, bytes = 4;
    bool constant = false;
  };
  // A loop that threads share: its axis, or the iterator of the batch.
  struct Loop {
    int iter;
    SharedAxis blocks;
  };

  std::int64_t value(int knob) const {
    return knob < 0 ? 1 : start_[static_cast<std::size_t>(knob)];
  }
  std::int64_t extent(int iter) const { return extent_of(rule_, axes_, iter); }
  void note_operand(const ir::Read& read);
  SharedAxis blocks(const BlockedAxis& axis, const SharedChoice& choice) const;
  // The loops that are shared, from outside in.
  std::vector<Loop> shared(const SharedChoice& choice) const;
  static std::vector<SharedAxis> axes_of(std::span<const Loop> loops);
  double unpacked(const SharedChoice& choice) const;
  double regions_of(SharedLoop loops) const;
  double moving(const std::vector<Loop>& loops, std::int64_t own, int threads) const;
  static double reached(const ir::Read& read, std::span<const Loop> loops, double parts);
  double copy(Packing packing, Packing wanted, const ir::Read* read) const;
  double copies_by_block(const SharedChoice& choice, double share) const;
  double copies_of_all(const SharedChoice& choice) const;
  double again(const SharedChoice& choice, const ir::Read& read, TileAxis own) const;
  double last_pass() const;

  const TileRule& rule_;
  const Axes& axes_;
  const te::Stage& stage_;
  const std::vector<std::int64_t>& start_;
  int threads_;
  double alone_ = 0, rest_ = 0;  // cycles of one thread: of the stage, and of all others
  double others_ = 0;            // stages beside it, with phases of their own
  std::vector<Operand> operands_;
  double bytes_ = 0;  // of all operands
};

}  // namespace lathe::space
