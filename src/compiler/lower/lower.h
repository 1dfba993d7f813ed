// From a nest with its sizes filled in to the flat program.
#pragma once

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/ir/nest/nest.h"

namespace lathe::lower {

struct Limits {
  // elements read and written in the code: compiling more takes seconds
  std::int64_t max_accesses = 20'000;
  std::int64_t max_scratch_bytes = 1LL << 30;  // workspace + workers + constants
};

// Runs the passes of pipeline.cpp in order; verifies after each in debug builds. Errors:
// kUnsupported (GPU bindings on a CPU target), kIllegalSchedule (a register tile indexed by a loop
// that is not unrolled, too much code or scratch).
Result<flat::Program> lower(const ir::SizedNest& nest, const Target& target,
                            const Limits& limits = {});

}  // namespace lathe::lower
