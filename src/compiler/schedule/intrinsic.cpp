#include "compiler/schedule/intrinsic.h"

#include <algorithm>

namespace lathe::schedule {

const IntrinsicShape* find_intrinsic(std::span<const IntrinsicShape> known, std::string_view name) {
  const auto found = std::ranges::find(known, name, &IntrinsicShape::name);
  return found == known.end() ? nullptr : &*found;
}

std::vector<IntrinsicShape> built_in_intrinsics() {
  return {{.name = "gemm8x8",
           .dtype = Dtype::kF32,
           .reduce = ir::ReduceOp::kSum,
           .iters = {{8, false, false}, {8, false, true}, {8, true, false}},
           .result = {0, 1},
           .left = {0, 2},
           .right = {1, 2}}};
}

}  // namespace lathe::schedule
