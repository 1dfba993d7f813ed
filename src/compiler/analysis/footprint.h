// What a block touches, loop by loop, as numbers (paper, appendix, Table 2): lengths, products of
// lengths, and for every buffer the elements touched, how often, and in what stride. Features and
// the analytic cost model read it.
//
// A plan is made once a nest; a configuration then only fills in sizes. Everything is counted from
// the innermost loop outwards. The box of a buffer at a loop is, a dimension, 1 + sum |coefficient
// * weight| * (steps - 1) over the digits that run inside, the loop's own included, cut at the
// tensor's size. The trip count of a loop with a tail counts whole.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

inline constexpr int kMaxChain =
    32;  // loops around a block; a deeper chain loses its outermost ones
inline constexpr int kMaxSlots =
    6;  // buffers of a block: the one written, then those read in order of appearance
inline constexpr int kMaxDims = 10;  // of a buffer, in plain or blocked storage

// Numbers of one block for one configuration. Loop 0 is the innermost.
struct Footprint {
  int loops = 0, slots = 0;
  double iterations = 1;  // of the whole chain, tails counted whole
  double useful = 1;      // of the block's domain
  std::array<double, kMaxChain> length, top_down, bottom_up;
  // Elements touched by one run of the loop, and elements of storage from one of its iterations to
  // the next.
  std::array<std::array<double, kMaxSlots>, kMaxChain> touch, stride;
  std::array<double, kMaxSlots> whole;  // elements touched by the whole chain

  double reuse(int loop, int slot) const {
    return length[loop] * bottom_up[loop] / touch[loop][slot];
  }
};

class FootprintPlan {
 public:
  // What is known of a buffer without sizes.
  struct Slot {
    ir::BufferId buffer;  // as the block names it: a cache, perhaps
    ir::BufferId tensor;  // what the buffer is a cache of, in the end; else `buffer`
    int element_bytes;
    ir::Scope scope;
    bool constant;           // known before the program runs
    bool copied;             // a cache in memory: packed or padded
    std::uint32_t moved_by;  // bit l: loop l of the chain (from the innermost) moves it
  };

  FootprintPlan(const ir::Nest& nest, ir::BlockId block);

  // `values` are the nest's sizes, evaluated.
  void evaluate(std::span<const std::int64_t> values, Footprint& out) const;

  // The loops, innermost first; at most kMaxChain.
  const std::vector<ir::LoopId>& chain() const { return chain_; }
  const std::vector<ir::LoopKind>& kinds() const { return kinds_; }
  bool reduces(int loop) const { return reduces_[static_cast<std::size_t>(loop)]; }
  const std::vector<Slot>& slots() const { return slots_; }
  ir::BlockId block() const { return block_; }

 private:
  struct Move {  // one digit of a loop in one dimension of one buffer
    int slot, dim;
    std::int64_t coef;
    ir::SizeId weight, div, mod;
  };
  struct Storage {  // of a slot
    std::vector<ir::SizeId> shape;
    std::vector<std::int64_t>
        slack;  // more elements a dimension, from several reads of the same buffer
    std::vector<ir::LayoutDigit> layout;
    int level = -1;  // the storage holds what this many inner loops touch; -1: the whole tensor
  };
  struct Strides;  // elements of storage a step in each dimension, for one configuration

  void add_slot(const ir::Nest& nest, ir::BufferId buffer, const std::vector<ir::Affine>& index);
  void add_moves(const ir::Nest& nest);
  void add_storage(const ir::Nest& nest, ir::BufferId buffer);
  Strides strides_of(int slot, std::span<const std::int64_t> values,
                     std::span<const double> box) const;

  ir::BlockId block_;
  std::vector<ir::LoopId> chain_;
  std::vector<ir::LoopKind> kinds_;
  std::vector<bool> reduces_;
  std::vector<ir::SizeId> extents_;  // of chain_
  std::vector<ir::SizeId> domain_;   // extents whose product is the block's work
  std::vector<Slot> slots_;
  std::vector<Storage> storage_;                               // of slots_
  std::vector<std::vector<std::vector<ir::Affine>>> indices_;  // of slots_: each access's rows
  std::vector<Move> moves_;                                    // by loop
  std::vector<std::size_t> first_move_;                        // of each loop, and the end
};

// The block that the longest chain of loops leads to, among reductions if there are any; the first
// of equals.
ir::BlockId main_block(const ir::Nest& nest);

}  // namespace lathe::analysis
