// A tensor brought into another order on a card: a block brings a tile into shared memory, along
// the axis that it is read along, and takes it out along the one that it is written along.
//
//   blocks: tiles; threads x: vectors along the written axis, y: elements along the read one
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>

#include "tuner/space/rules/cuda/cuda_context.h"
#include "tuner/space/rules/opencl/item_tile.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

struct PermuteSizes {
  std::int64_t width = 1;    // of vectors along the written axis
  ir::SizeId written, read;  // of a tile, in vectors and in elements
  ir::SizeId threads;        // of a block along the read axis
};

// Throws StepRefused.
void put_permute_on_blocks(const ItemStage& stage, const PermuteSizes& sizes, ir::Nest& nest,
                           schedule::Trace& trace, std::set<std::string>& placed);

// The space of a program whose main stage is one. Nothing where that is none.
std::optional<Derived> derive_permutes(const std::shared_ptr<const Prepared>& prepared,
                                       const CudaContext& context);
std::span<const Meaning> permute_meanings();

}  // namespace lathe::space
