// The schedules of sums of products on a card: knobs for the tiles of block_tile.h, what limits
// them, and where a search begins.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tuner/space/rules/cuda/block_tile.h"
#include "tuner/space/rules/cuda/cuda_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// Numbers of the knobs; -1: this program has no such knob.
struct BlockKnobs {
  int v = -1, p0 = -1, p1 = -1, of_v = -1, of_p0 = -1, of_p1 = -1;
  int chunk = -1, unroll = -1;
  int has_groups = -1, groups = -1, has_parts = -1, parts = -1;
  int weights = -1, input = -1, stages = -1, lanes = -1, taps = -1;
};

// A program whose main stage goes on blocks.
struct BlockRule {
  std::shared_ptr<const Prepared> prepared;  // `main` refers to its view
  ItemStage main;
  CudaTarget target;
  OpenClTarget device;     // what rules for any grid are told of it
  std::int64_t width = 1;  // of vectors
  BlockKnobs at;
  std::vector<Knob> knobs;
};

// Sizes as knobs make them, for limits and costs.
struct BlockBoxes {
  ir::SizeId threads;         // of a block
  ir::SizeId sums, operands;  // that a thread keeps in registers
  ir::SizeId results;         // of a block's tile
  ir::SizeId weights, input;  // bytes that a chunk needs of them
  ir::SizeId shared;          // bytes of shared memory
  ir::SizeId terms;           // of the sum that blocks and groups share, a chunk each
  ir::SizeId far, near;       // blocks along x, and along y
};
BlockBoxes boxes_of(const BlockRule& rule, ir::Sizes& sizes);

// Nothing where no stage with most of the work is a sum that tiles of blocks are for.
std::optional<BlockRule> block_rule(const CudaContext& context);
Result<Derived> derive_blocks(BlockRule rule, const CudaContext& context);
std::span<const Meaning> block_meanings();

}  // namespace lathe::space
