// The first pass: it makes the flat program from the nest, with tails, edges, unrolling, vectors
// and registers.
#pragma once

#include "base/result.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/lower/lower.h"

namespace lathe::lower {

Result<flat::Program> expand(const ir::SizedNest& nest, const Limits& limits);

}  // namespace lathe::lower
