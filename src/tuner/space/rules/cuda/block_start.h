// Where a search of tiles of blocks begins: what the model of block_cost.h likes best. The number
// of blocks and the split of the sum are chosen together, for at batch 1 they decide.
#pragma once

#include <vector>

#include "tuner/space/rules/cuda/block_space.h"

namespace lathe::space {

// Values of all knobs, the most promising first. None if nothing fits the constraints.
std::vector<std::vector<std::int64_t>> block_starts(const BlockRule& rule, const Derived& derived);

}  // namespace lathe::space
