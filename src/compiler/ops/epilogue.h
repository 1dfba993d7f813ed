// What follows a matmul or convolution in the same workload, in the order that the flag gives:
// --epilogue bias,residual,relu,clip:0:6.
#pragma once

#include "compiler/ops/text.h"

namespace lathe::ops {

// The output that an epilogue works on.
struct Output {
  std::string name;                // "Y"
  std::vector<std::string> iters;  // "n", "o", "y:56", "x:56"
  std::vector<std::int64_t> shape;
  std::string channel;  // the index of the bias: "o"
  std::int64_t channels = 0;
  std::vector<std::int64_t> border_shape;  // as callers see it; empty: the same as shape
};

Parameter epilogue_parameter();

// Makes a complete workload: the name, `declarations` (each "X[1,3,7,7]" or "const W[...]"; the
// type is added), those of the epilogue, the lines `before`, and the stage `output` = epilogue of
// `value`.
Result<te::Workload> workload_with_epilogue(const Values& values, std::string_view name,
                                            const std::vector<std::string>& declarations,
                                            const Output& output, const std::string& value,
                                            const std::string& before = "");

}  // namespace lathe::ops
