#include "compiler/te/permute.h"

#include <algorithm>

namespace lathe::te {
namespace {

template <class T>
std::vector<T> in_order(const std::vector<T>& list, const std::vector<int>& order) {
  std::vector<T> out;
  for (const int from : order) out.push_back(list[static_cast<std::size_t>(from)]);
  return out;
}

// The first iterators of the stage come in the order of what it writes.
void permute_written(Stage& stage, const std::vector<int>& order) {
  std::vector<ir::Expr> values;  // of each former iterator
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    const auto at = std::ranges::find(order, i);
    values.push_back(ir::iter_value(at == order.end() ? i : static_cast<int>(at - order.begin())));
  }
  std::vector<Iterator> iters = in_order(stage.iters, order);
  iters.insert(iters.end(), stage.iters.begin() + std::ssize(order), stage.iters.end());
  auto body = ir::with_iterators(stage.body, values);
  LATHE_CHECK(body);  // each iterator becomes one
  stage.body = std::move(*body);
  stage.iters = std::move(iters);
}

}  // namespace

std::vector<int> order_inside(const Tensor& tensor, const std::vector<int>& seen) {
  const auto dims = merged_dims(tensor.shape, tensor.shape_at_border());
  LATHE_CHECK(dims && seen.size() == tensor.shape_at_border().size());
  std::vector<int> out;
  for (const int outer : seen)
    for (std::size_t d = 0; d < dims->size(); ++d)
      if ((*dims)[d] == outer) out.push_back(static_cast<int>(d));
  return out;
}

void permute_dims(Workload& workload, int tensor, const std::vector<int>& order) {
  Tensor& own = workload.tensors[static_cast<std::size_t>(tensor)];
  LATHE_CHECK(own.literal.empty() && order.size() == own.shape.size());
  const auto dims = merged_dims(own.shape, own.shape_at_border());
  LATHE_CHECK(dims);
  std::vector<int> seen = in_order(*dims, order);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  own.shape = in_order(own.shape, order);
  if (!own.border_shape.empty()) own.border_shape = in_order(own.border_shape, seen);
  LATHE_CHECK(merged_dims(own.shape, own.shape_at_border()));
  for (Stage& stage : workload.stages) {
    stage.body = ir::rewrite_leaves(stage.body, [&](const ir::Expr& leaf) {
      if (const auto* read = std::get_if<ir::Read>(&leaf->value);
          read != nullptr && read->tensor == tensor)
        return ir::read(tensor, in_order(read->index, order), leaf->dtype, read->pad);
      if (const auto* lookup = std::get_if<ir::Lookup>(&leaf->value);
          lookup != nullptr && lookup->tensor == tensor)
        return ir::lookup(tensor, in_order(lookup->index, order), leaf->dtype, lookup->pad);
      return leaf;
    });
    if (stage.tensor == tensor) permute_written(stage, order);
  }
}

}  // namespace lathe::te
