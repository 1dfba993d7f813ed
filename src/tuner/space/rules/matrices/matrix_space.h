// Operands laid out as matrices, as a knob of the space: whether they are read as they lie, or as
// matrices, with knobs of its own for the product of these.
#pragma once

#include <memory>
#include <span>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

Result<std::unique_ptr<Alternatives>> offer_matrices(const CpuContext& context);
std::span<const Meaning> matrix_meanings();

}  // namespace lathe::space
