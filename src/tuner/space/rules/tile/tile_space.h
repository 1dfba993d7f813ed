// Multi-level tiling around a register tile: the schedules of the sums as they are written, of
// every workload with a spatial axis.
#pragma once

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// Sets the context's tiling.
Result<Derived> derive_tiles(CpuContext& context);
std::span<const Meaning> tile_meanings();

}  // namespace lathe::space
