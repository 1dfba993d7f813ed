// Between which whole numbers an integer expression lies. It says that an index stays inside a
// tensor.
#pragma once

#include <cstdint>
#include <functional>

#include "compiler/ir/expr/expr.h"

namespace lathe::ir {

struct IndexRange {  // both ends included
  std::int64_t low = 0, high = 0;
  bool is_within(std::int64_t first, std::int64_t last) const {
    return low >= first && high <= last;
  }
};

// All numbers of the type; of floats and i64, all of i64.
IndexRange numbers_of(Dtype dtype);
// Of a literal's elements, all whole numbers.
IndexRange range_of_elements(const std::vector<double>& elements, Dtype dtype);

// What is known of iterators and of the elements of tensors.
struct KnownRanges {
  std::function<IndexRange(int iter)> of_iter;
  std::function<IndexRange(int tensor, Dtype dtype)> of_tensor;
};

// The least range that simple rules find, operation by operation. Where a result may wrap it is all
// numbers of the type; of what is no integer, too.
IndexRange range_of(const Expr& e, const KnownRanges& known);
IndexRange range_of(const Affine& a, const KnownRanges& known);

}  // namespace lathe::ir
