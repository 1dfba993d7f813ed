#include "tuner/space/rules/consumers.h"

#include "tuner/space/rules/axes.h"

namespace lathe::space {
namespace {

// The tensor that a buffer holds or caches.
ir::BufferId cached_tensor(const ir::Nest& nest, ir::BufferId buffer) {
  while (nest.buffers[buffer].cache_of >= 0) buffer = nest.buffers[buffer].cache_of;
  return buffer;
}

}  // namespace

bool maps_element_by_element(const ir::Nest& nest, const ir::Block& block, ir::BufferId tensor) {
  const std::size_t dims = nest.buffers[tensor].shape.size();
  if (block.iters.size() != dims) return false;
  bool reads = false;
  for (const ir::Read* read : ir::reads_of(block.body)) {
    if (cached_tensor(nest, read->tensor) != tensor) continue;
    reads = true;
    for (int d = 0; d < static_cast<int>(dims); ++d)
      if (read->index[d] != ir::Affine::iter(d) || block.index[d] != ir::Affine::iter(d))
        return false;
  }
  return reads;
}

int reduced_alone(const ir::Nest& nest, const ir::Block& block, ir::BufferId tensor, int dim) {
  const auto dims = static_cast<int>(nest.buffers[tensor].shape.size());
  const auto last = static_cast<int>(block.iters.size()) - 1;
  const auto* read = std::get_if<ir::Read>(&block.body->value);
  if (read == nullptr || last + 1 != dims || cached_tensor(nest, read->tensor) != tensor ||
      touches(block.index, last))
    return -1;
  for (int d = 0, next = 0; d < dims; ++d)
    if (read->index[d] != ir::Affine::iter(d == dim ? last : next++)) return -1;
  return last;
}

}  // namespace lathe::space
