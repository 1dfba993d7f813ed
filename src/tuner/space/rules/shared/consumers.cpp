#include "tuner/space/rules/shared/consumers.h"

#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

// The tensor that a buffer holds or caches.
ir::BufferId cached_tensor(const ir::Nest& nest, ir::BufferId buffer) {
  while (nest.buffers[buffer].cache_of >= 0) buffer = nest.buffers[buffer].cache_of;
  return buffer;
}

// True if a body that computes elements of so many dimensions reads what `is_read` says at the
// element's own place, and nowhere else.
template <class Predicate>
bool reads_own_element(const ir::Expr& body, std::size_t dims, Predicate is_read) {
  bool reads = false;
  for (const ir::Lookup* lookup : ir::lookups_of(body))
    if (is_read(lookup->tensor)) return false;
  for (const ir::Read* read : ir::reads_of(body)) {
    if (!is_read(read->tensor)) continue;
    reads = true;
    if (read->index.size() != dims) return false;
    for (int d = 0; d < static_cast<int>(dims); ++d)
      if (read->index[static_cast<std::size_t>(d)] != ir::Affine::iter(d)) return false;
  }
  return reads;
}

}  // namespace

bool maps_element_by_element(const ir::Nest& nest, const ir::Block& block, ir::BufferId tensor) {
  const std::size_t dims = nest.buffers[tensor].shape.size();
  if (block.iters.size() != dims || block.index.size() < dims) return false;
  for (int d = 0; d < static_cast<int>(dims); ++d)
    if (block.index[static_cast<std::size_t>(d)] != ir::Affine::iter(d)) return false;
  return reads_own_element(
      block.body, dims, [&](ir::BufferId buffer) { return cached_tensor(nest, buffer) == tensor; });
}

bool maps_element_by_element(const te::Stage& stage, int tensor) {
  return stage.reduce == ir::ReduceOp::kNone &&
         reads_own_element(stage.body, stage.iters.size(),
                           [=](int read) { return read == tensor; });
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
