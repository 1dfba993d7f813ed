// The rules for processors.
#pragma once

#include <cstdint>
#include <memory>

#include "base/target.h"
#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/stores/stores.h"
#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

// `streamed`: outputs of so many bytes may be stored past the caches.
Result<Derived> derive_for_cpu(const te::Workload& workload, const CpuTarget& target,
                               Flavour flavour, double streamed = kWorthStreaming);

}  // namespace lathe::space
