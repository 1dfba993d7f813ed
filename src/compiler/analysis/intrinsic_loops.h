// Which loops of a nest an intrinsic can stand for.
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

struct IntrinsicLoops {
  ir::BlockId block = -1;
  std::vector<ir::LoopId> loops;   // by iterator of the intrinsic
  const ir::Read* left = nullptr;  // both in the body of the block
  const ir::Read* right = nullptr;
};

// Why the loops cannot be the intrinsic's.
enum class OtherLoops : std::uint8_t {
  kNotInnermost,  // more is inside them than one block in loops around nothing else
  kOtherSum,      // the block, or what its loops move, is not what the intrinsic computes
  kOtherTypes,    // of elements
  kOtherExtents,  // of loops
  // In some run of the loops a part of the iterations lies beyond an extent or outside a tensor.
  // Only an intrinsic that lowering writes out may leave out iterations.
  kTail,
};

// The loops from `loop` inwards, each as an iterator of the intrinsic. Of open sizes, by which
// iterations might be left out, nothing is known, and they do not refuse. A later step may change
// the block, so who relies on this asks again.
std::expected<IntrinsicLoops, OtherLoops> intrinsic_loops(const ir::Nest& nest, ir::LoopId loop,
                                                          const ir::Intrinsic& intrinsic);

}  // namespace lathe::analysis
