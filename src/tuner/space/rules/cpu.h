// The rules for processors.
#pragma once

#include <string_view>

#include "base/target.h"
#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/stores/stores.h"

namespace lathe::space {

// `streamed`: outputs of so many bytes may be stored past the caches.
Result<Derived> derive_for_cpu(const te::Workload& workload, const CpuTarget& target,
                               Flavour flavour, double streamed = kWorthStreaming);
Result<Derived> derive_for_cpu(CpuContext context);  // without a tiling yet

// What a knob of its own means, without prefixes; empty: no rule has it.
std::string_view cpu_meaning(std::string_view knob);

}  // namespace lathe::space
