// What a block touches, loop by loop, as numbers (paper, appendix, Table 2): lengths, products of
// lengths, and for every buffer how many elements are touched, how often, and in what stride.
// Features and the analytic cost model read them.
//
// A plan is made once for a nest; a configuration then only fills in sizes. Everything is counted
// from the innermost loop outwards. In each dimension, the box of a buffer at a loop is 1 + the sum
// of |coefficient * weight| * (steps - 1) over the digits that run inside, the loop's own included,
// cut at the tensor's size. The trip count of a loop with a tail counts in full.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

// Loops around a block; of more loops, the outermost are left out.
inline constexpr int kMaxChain = 32;
// Buffers of a block: the one that it writes, then those that it reads, in order of appearance.
inline constexpr int kMaxSlots = 6;
inline constexpr int kMaxDims = 10;  // of a buffer, stored row-major or in blocks

// The numbers of one block for one configuration. Loop 0 is the innermost.
struct Footprint {
  int loops = 0, slots = 0;
  double iterations = 1;  // of all loops around the block; tails count in full
  double useful = 1;      // of the block's domain
  std::array<double, kMaxChain> length, top_down, bottom_up;
  // touch: elements touched by one run of the loop. stride: elements of storage from one iteration
  // of the loop to the next.
  std::array<std::array<double, kMaxSlots>, kMaxChain> touch, stride;
  std::array<double, kMaxSlots> whole;  // elements touched by all loops together

  double reuse(int loop, int slot) const {
    return length[loop] * bottom_up[loop] / touch[loop][slot];
  }
};

class FootprintPlan {
 public:
  // What is known of a buffer before its sizes are.
  struct Slot {
    ir::BufferId buffer;  // as the block names it: a cache, perhaps
    // The tensor that the buffer caches, directly or through other caches; else `buffer`
    ir::BufferId tensor;
    int element_bytes;
    ir::Scope scope;
    bool constant;           // known before the program runs
    bool copied;             // a cache in memory: packed or padded
    std::uint32_t moved_by;  // bit l: loop l (counted from the innermost) moves the access
  };

  FootprintPlan(const ir::Nest& nest, ir::BlockId block);

  // `values` are the values of the nest's sizes. Only so many of the innermost loops get strides.
  void evaluate(std::span<const std::int64_t> values, Footprint& out,
                int strided_loops = kMaxChain) const;

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
    // Extra elements in each dimension, from several reads of the buffer.
    std::vector<std::int64_t> slack;
    std::vector<ir::LayoutDigit> layout;
    int level = -1;  // the storage holds what so many inner loops touch; -1: the whole tensor
  };
  struct Strides;  // elements of storage for a step in each dimension, for one configuration

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
  std::vector<std::vector<std::vector<ir::Affine>>> indices_;  // of slots_: the rows of each access
  std::vector<Move> moves_;                                    // by loop
  std::vector<std::size_t> first_move_;  // of each loop, and one past the last
};

// Of a tensor, whose extents the nest must know; not of what is stored of it.
double bytes_of(const ir::Nest& nest, const ir::Buffer& buffer);

// The block with the most loops around it, among reductions if there are any; the first of equals.
ir::BlockId main_block(const ir::Nest& nest);

}  // namespace lathe::analysis
