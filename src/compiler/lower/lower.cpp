#include "compiler/lower/lower.h"

#include "compiler/lower/expand/expand.h"

namespace lathe::lower {

Result<flat::Program> lower(const ir::SizedNest& nest, const Target& target, const Limits& limits) {
  return expand(nest, target, limits);
}

}  // namespace lathe::lower
