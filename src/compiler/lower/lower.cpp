#include "compiler/lower/lower.h"

#include "compiler/analysis/essence.h"
#include "compiler/lower/expand/expand.h"
#include "compiler/lower/pipeline.h"

namespace lathe::lower {
namespace {

std::optional<Grids> grids_of(const Target& target) {
  constexpr int kMostLanes = 16;  // OpenCL C has no wider vectors
  if (target.kind() != DeviceKind::kOpenCl) return {};
  return Grids{.most_items = target.as_opencl().group_items, .most_lanes = kMostLanes};
}

}  // namespace

Result<flat::Program> lower(const ir::SizedNest& nest, const Target& target, const Limits& limits) {
  const ir::Nest essential = analysis::essential(nest);
  return run_passes(LATHE_TRY(expand(ir::SizedNest(essential, {}), limits, grids_of(target))),
                    target);
}

}  // namespace lathe::lower
