// The paper's workloads by name: C1 to C12, the convolutions of ResNet-18 (Table 1), with batch 1
// and a padding of half the kernel; and matmul-1024, C[i,j] = sum(k) A[k,i] * B[k,j].
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
// Nothing if the paper has no such name. Upper and lower case are the same.
std::optional<NamedWorkload> paper_workload(std::string_view name);

}  // namespace lathe::ops
