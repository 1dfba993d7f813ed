// Between which whole numbers the elements of tensors lie: what inputs promise, what literals hold,
// and what stages make of these.
#pragma once

#include <span>

#include "compiler/ir/expr/index_range.h"
#include "compiler/te/workload.h"

namespace lathe::te {

class ElementRanges {
 public:
  // `workload` must outlive this object, and have all stages that are asked about.
  explicit ElementRanges(const Workload& workload)
      : workload_(workload), known_(workload.tensors.size()) {}

  // Of a tensor of floats: all numbers.
  ir::IndexRange of_tensor(int tensor);
  // Of an expression over these iterators.
  ir::IndexRange of(const ir::Expr& e, std::span<const Iterator> iters);

 private:
  ir::IndexRange found(const Tensor& tensor, int id);
  ir::IndexRange of_stage(const Stage& stage);

  const Workload& workload_;
  std::vector<std::optional<ir::IndexRange>> known_;  // by tensor
};

}  // namespace lathe::te
