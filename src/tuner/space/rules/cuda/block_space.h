// The schedules of sums of products on a card: knobs for the tiles of block_tile.h, what limits
// them, and where a search begins.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tuner/space/rules/cuda/block_tile.h"
#include "tuner/space/rules/cuda/cuda_context.h"
#include "tuner/space/rules/cuda/other_stages.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// Numbers of the knobs; -1: this program has no such knob.
struct BlockKnobs {
  int v = -1, p0 = -1, p1 = -1, of_v = -1, of_p0 = -1, of_p1 = -1;
  int chunk = -1, unroll = -1, pad = -1;
  int has_groups = -1, groups = -1, has_parts = -1, parts = -1;
  int weights = -1, input = -1, stages = -1, lanes = -1, taps = -1;
};

// A stage that goes on blocks.
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
  // Elements by which tiles, or parts of the sum, begin beside the vectors that copies have.
  ir::SizeId beside;
};
BlockBoxes boxes_of(const BlockRule& rule, ir::Sizes& sizes);
// Of one sum of the stage, in registers and in shared memory: 4, or 8.
std::int64_t bytes_of_sum(const ItemStage& stage);

// Nothing where tiles of blocks are not for the stage.
std::optional<BlockRule> block_rule(std::shared_ptr<const Prepared> prepared, int stage,
                                    const CudaTarget& target);
// The analytic default; empty: nothing fits.
std::vector<std::int64_t> first_block_start(const BlockRule& rule, Flavour flavour);
// Sizes with the knobs' values.
BlockSizes fixed_block_sizes(const BlockRule& rule, std::span<const std::int64_t> values,
                             ir::Nest& nest);

// The space of a program whose main stage goes on blocks. Nothing where that is none.
std::optional<Derived> derive_blocks(const std::shared_ptr<const Prepared>& prepared,
                                     const CudaContext& context);
std::span<const Meaning> block_meanings();

}  // namespace lathe::space
