#include "compiler/schedule/intrinsic.h"

namespace lathe::schedule {

IntrinsicShape shape_of(ir::Intrinsic intrinsic) {
  switch (intrinsic) {
    case ir::Intrinsic::kNone: break;
    case ir::Intrinsic::kGemm8x8:
      return {.dtype = Dtype::kF32,
              .reduce = ir::ReduceOp::kSum,
              .iters = {{8, false, false}, {8, false, true}, {8, true, false}},
              .result = {0, 1},
              .left = {0, 2},
              .right = {1, 2}};
  }
  LATHE_CHECK(false, "no loops have the shape of no intrinsic");
}

Result<ir::Intrinsic> intrinsic_named(std::string_view name) {
  for (int i = 1; i < ir::kIntrinsics; ++i)
    if (name == name_of(static_cast<ir::Intrinsic>(i))) return static_cast<ir::Intrinsic>(i);
  return fail(ErrorKind::kInvalidArgument, "{}: there is no intrinsic of this name", name);
}

}  // namespace lathe::schedule
