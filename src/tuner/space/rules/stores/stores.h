// Stores past the caches, as a knob of the space. A store to a line that no cache holds first
// reads it from memory; where the outputs are more than the caches hold, that is a third or a
// quarter of all that a map moves.
#pragma once

#include <memory>
#include <span>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// An output of less bytes stays in the last cache, beside what whoever reads it next has there.
inline constexpr double kWorthStreaming = 8 << 20;

// Makes it a knob whether outputs of `context.streamed` bytes are stored past the caches, if there
// are any that the program does not read again.
Result<std::unique_ptr<Alternatives>> offer_stores(const CpuContext& context);
std::span<const Meaning> store_meanings();

}  // namespace lathe::space
