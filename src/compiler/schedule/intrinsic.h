// What a loop nest must look like so that an intrinsic can replace it. Lowering emits them
// (lower/expand/intrinsics.cpp).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "compiler/ir/nest/nest.h"

namespace lathe::schedule {

// result[...] = reduce over the reduction iterators of (left[...] * right[...]). The iterators
// named for an operand index it, in any order of dimensions; an iterator moves no other operand.
struct IntrinsicShape {
  struct Iter {
    std::int64_t extent;
    bool reduces;
    bool is_lane;  // moves the result by one element of its innermost dimension
  };
  Dtype dtype;
  ir::ReduceOp reduce;
  std::vector<Iter> iters;
  std::vector<int> result, left, right;  // iterators that move the operand
};

// gemm8x8 (paper, Figure 1): a tile of 8 by 8 results over 8 steps of the reduction. Not of kNone.
IntrinsicShape shape_of(ir::Intrinsic intrinsic);

Result<ir::Intrinsic> intrinsic_named(std::string_view name);  // never kNone

}  // namespace lathe::schedule
