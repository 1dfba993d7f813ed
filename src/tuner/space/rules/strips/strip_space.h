// The knobs of pipelines in strips.
#pragma once

#include <memory>
#include <span>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

Result<std::unique_ptr<Alternatives>> offer_strips(const CpuContext& context);
std::span<const Meaning> strip_meanings();

}  // namespace lathe::space
