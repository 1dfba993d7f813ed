// What is kept, as a knob of the space: element-wise stages that are read several times, and
// expressions that a stage would compute anew for every element, are computed once and kept, or
// computed again. Where they are computed again the program has other stages, and all that the
// rules make of those, with knobs of its own.
#pragma once

#include <memory>
#include <span>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// Before the names of the knobs of a program that computes them again.
inline constexpr std::string_view kAgainPrefix = "again.";

// Nothing where algebra keeps nothing, or where one of both ways cannot win.
Result<std::unique_ptr<Alternatives>> offer_again(const CpuContext& context);
std::span<const Meaning> again_meanings();

}  // namespace lathe::space
