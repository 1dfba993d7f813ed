#include "compiler/lower/lower.h"

#include "compiler/analysis/essence.h"
#include "compiler/lower/expand/expand.h"
#include "compiler/lower/pipeline.h"

namespace lathe::lower {
namespace {

std::optional<Grids> grids_of(const Target& target) {
  constexpr int kMostLanes = 16;  // OpenCL C has no wider vectors
  if (target.kind() != DeviceKind::kOpenCl) return {};
  return Grids{.most_items = target.as_opencl().group_items,
               .most_lanes = kMostLanes,
               .group_bytes = target.as_opencl().local_bytes};
}

}  // namespace

Result<flat::Program> lower(const ir::SizedNest& nest, const Target& target, const Limits& limits) {
  for (const ir::Loop& loop : nest.nest->loops)
    if (!loop.dead && loop.intrinsic != ir::IntrinsicId::kNone)
      LATHE_TRY_STATUS(check_has(target, row_of(loop.intrinsic)));
  const ir::Nest essential = analysis::essential(nest);
  return run_passes(LATHE_TRY(expand(ir::SizedNest(essential, {}), limits, grids_of(target))),
                    target);
}

}  // namespace lathe::lower
