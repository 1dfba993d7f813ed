// The first pass: it makes the flat program from the nest, with tails, edges, unrolling, vectors
// and registers.
#pragma once

#include <optional>

#include "base/result.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/lower/expand/plan.h"
#include "compiler/lower/lower.h"

namespace lathe::lower {

// `grids`: of a device that takes kernels on grids; a processor takes regions.
Result<flat::Program> expand(const ir::SizedNest& nest, const Limits& limits,
                             const std::optional<Grids>& grids = {});

}  // namespace lathe::lower
