// Where a search of tiles of blocks begins: what a rough model of latency, instructions, shared
// memory and waves of blocks likes best. The number of blocks and the split of the sum are chosen
// together, for at batch 1 they decide.
#pragma once

#include <vector>

#include "tuner/space/rules/cuda/block_space.h"

namespace lathe::space {

// What the model looks at of a block; all numbers are counts.
struct BlockWork {
  double threads = 0, blocks = 0;
  double instructions = 0;           // of one thread, over its whole sum
  double shared_cycles = 0;          // that one warp keeps the unit for loads and stores busy
  double last = 0;                   // the same of a block, when its sums are added up and stored
  double staged = 0;                 // bytes that a block copies
  double registers = 0, shared = 0;  // of a thread, in number; of a block, in bytes
  bool adds_kernel = false;
};
// Cycles, roughly.
double cycles_of(const BlockWork& work, const CudaTarget& card);

// Values of all knobs, the most promising first. None if nothing fits the constraints.
std::vector<std::vector<std::int64_t>> block_starts(const BlockRule& rule, const Derived& derived);

}  // namespace lathe::space
