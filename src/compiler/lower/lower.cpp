#include "compiler/lower/lower.h"

#include "compiler/lower/expand/expand.h"
#include "compiler/lower/pipeline.h"

namespace lathe::lower {

Result<flat::Program> lower(const ir::SizedNest& nest, const Target& target, const Limits& limits) {
  return run_passes(LATHE_TRY(expand(nest, target, limits)), target);
}

}  // namespace lathe::lower
