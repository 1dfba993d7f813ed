// Makes the flat program of a nest whose sizes are filled in.
#pragma once

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/ir/nest/nest.h"

namespace lathe::lower {

struct Limits {
  // Elements read and written in the code. Compiling more takes seconds.
  std::int64_t max_accesses = 20'000;
  // Of these in iterations at the edges of loops; twice as many where sums would need masks. A loop
  // that would need more is not cut, unless it needs only a fifth of them.
  std::int64_t max_edge_accesses = 3'000;
  std::int64_t max_scratch_bytes = 1LL << 30;  // workspace + workers + constants
};

// Runs the passes of pipeline.cpp in order; debug builds verify after each. For a target with grids
// each item at the top of the nest that has bound loops becomes a kernel of its own, and what is
// between these a kernel of one point. Fails with kUnsupported (GPU bindings on a CPU target, an
// intrinsic that the target has not; parallel loops, streaming stores, or blocks that the bound
// loops beside them do not hold on one with grids) or kIllegalSchedule (a register tile that is
// indexed by a loop which is not unrolled, too much code or scratch).
Result<flat::Program> lower(const ir::SizedNest& nest, const Target& target,
                            const Limits& limits = {});

}  // namespace lathe::lower
