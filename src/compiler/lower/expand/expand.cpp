#include "compiler/lower/expand/expand.h"

#include <utility>

#include "compiler/lower/expand/emitter.h"

namespace lathe::lower {

Result<flat::Program> expand(const ir::SizedNest& nest, const Limits& limits,
                             const std::optional<Grids>& grids) {
  try {
    Planned planned = make_plan(nest, limits, grids);
    return Emitter(planned.plan, std::move(planned.frame), limits).run();
  } catch (Refused& refused) {
    return std::unexpected(std::move(refused.error));
  }
}

}  // namespace lathe::lower
