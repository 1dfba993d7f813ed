// `lathe bench --in-turns`.
#pragma once

#include <string>

#include "api/in_turns.h"
#include "base/json.h"

namespace lathe::cli {

// A table with a line for each phase, and what the figure is.
std::string in_turns_text(const api::InTurns& turns, int threads);
// The members "phases", "alone_seconds", "all_seconds" and "calls".
void add_in_turns(Json& json, const api::InTurns& turns);

}  // namespace lathe::cli
