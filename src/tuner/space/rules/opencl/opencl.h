// The rules for devices that run OpenCL: each stage is a kernel of its own, whose work items have a
// tile of results each.
#pragma once

#include <string_view>

#include "base/target.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

Result<Derived> derive_for_opencl(const te::Workload& workload, const OpenClTarget& target,
                                  Flavour flavour);
// What a knob of its own means; empty: no rule has it.
std::string_view opencl_meaning(std::string_view knob);

}  // namespace lathe::space
