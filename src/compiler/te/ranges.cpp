#include "compiler/te/ranges.h"

#include <algorithm>
#include <cmath>

#include "compiler/te/work.h"

namespace lathe::te {

using ir::IndexRange;

IndexRange ElementRanges::of_tensor(int tensor) {
  std::optional<IndexRange>& known = known_[static_cast<std::size_t>(tensor)];
  if (!known) {
    const Tensor& own = workload_.tensors[static_cast<std::size_t>(tensor)];
    known = ir::numbers_of(own.dtype);  // of a tensor that is made of itself, which is refused
    const IndexRange range = found(own, tensor);
    known_[static_cast<std::size_t>(tensor)] = range;
    return range;
  }
  return *known;
}

IndexRange ElementRanges::of(const ir::Expr& e, std::span<const Iterator> iters) {
  return ir::range_of(e, {.of_iter =
                              [&](int iter) {
                                return IndexRange{0,
                                                  iters[static_cast<std::size_t>(iter)].extent - 1};
                              },
                          .of_tensor = [this](int tensor, Dtype) { return of_tensor(tensor); }});
}

IndexRange ElementRanges::found(const Tensor& tensor, int id) {
  const IndexRange all = ir::numbers_of(tensor.dtype);
  if (is_float(tensor.dtype)) return all;
  if (tensor.role == TensorRole::kLiteral)
    return ir::range_of_elements(tensor.literal, tensor.dtype);
  if (tensor.role == TensorRole::kInput)
    return tensor.range ? IndexRange{static_cast<std::int64_t>(tensor.range->low),
                                     static_cast<std::int64_t>(tensor.range->high)}
                        : all;
  const Stage* stage = workload_.writer(id);
  return stage == nullptr ? all : of_stage(*stage);
}

IndexRange ElementRanges::of_stage(const Stage& stage) {
  const IndexRange all = ir::numbers_of(stage.body->dtype);
  if (stage.reduce == ir::ReduceOp::kProd) return all;
  const IndexRange body = of(stage.body, stage.iters);
  if (stage.reduce != ir::ReduceOp::kSum) return body;
  const double terms = terms_of(stage);
  const double size =
      std::max(std::abs(static_cast<double>(body.low)), std::abs(static_cast<double>(body.high)));
  // No partial sum wraps.
  if (terms * size > 0x1p52 || terms * size > static_cast<double>(all.high)) return all;
  const auto count = static_cast<std::int64_t>(terms);
  return {body.low * count, body.high * count};
}

}  // namespace lathe::te
