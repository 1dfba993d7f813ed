// The rules for cards, which are those for devices that run OpenCL so far: each stage is a kernel
// of its own, whose threads have a tile of results each.
#pragma once

#include <string_view>

#include "base/target.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

Result<Derived> derive_for_cuda(const te::Workload& workload, const CudaTarget& target,
                                Flavour flavour);
// What a knob of its own means; empty: no rule has it.
std::string_view cuda_meaning(std::string_view knob);

}  // namespace lathe::space
