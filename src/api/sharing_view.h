// How the threads of a program share its work, as text and as JSON: `lathe show --what sharing`.
#pragma once

#include <string>

#include "base/json.h"
#include "compiler/sharing/sharing.h"

namespace lathe::api {

// A table with a line for each phase, and a line of totals for prepare() and for a call.
std::string sharing_text(const sharing::Sharing& sharing);
// Counts are exact here. docs/reading.md names the members.
Json sharing_json(const sharing::Sharing& sharing);

}  // namespace lathe::api
