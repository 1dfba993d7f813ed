// The workloads of the paper, by name: the convolutions of ResNet-18 (Table 1), C1 to C12, batch 1,
// padding half the kernel, and matmul-1024, C[i,j] = sum(k) A[k,i] * B[k,j].
#pragma once

#include "compiler/ops/operators.h"

namespace lathe::ops {

struct NamedWorkload {
  std::string name;     // "C6"
  std::string op;       // "conv2d"
  Arguments arguments;  // for build()
};

// In the paper's order.
std::vector<NamedWorkload> paper_workloads();
// None if the paper has no such name; upper and lower case are the same.
std::optional<NamedWorkload> paper_workload(std::string_view name);

}  // namespace lathe::ops
