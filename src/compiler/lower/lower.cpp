#include "compiler/lower/lower.h"

#include "compiler/analysis/essence.h"
#include "compiler/lower/expand/expand.h"
#include "compiler/lower/pipeline.h"

namespace lathe::lower {

Result<flat::Program> lower(const ir::SizedNest& nest, const Target& target, const Limits& limits) {
  for (const ir::Loop& loop : nest.nest->loops)
    if (!loop.dead && loop.intrinsic != ir::IntrinsicId::kNone)
      LATHE_TRY_STATUS(check_has(target, row_of(loop.intrinsic)));
  const ir::Nest essential = analysis::essential(nest);
  return run_passes(LATHE_TRY(expand(ir::SizedNest(essential, {}), limits, target.grids())),
                    target);
}

}  // namespace lathe::lower
