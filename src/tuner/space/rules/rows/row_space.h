// Rows together as knobs of the space: for each group of stages whether its rows go together, and
// how many. Where they do, the tiles of its stages have other knobs than where they do not.
#pragma once

#include <memory>
#include <span>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

Result<std::unique_ptr<Alternatives>> offer_rows(const CpuContext& context);
std::span<const Meaning> row_meanings();

}  // namespace lathe::space
