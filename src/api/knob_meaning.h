// What the knobs of a space mean, in a sentence each; docs/reading.md says more.
#pragma once

#include <string_view>

namespace lathe::api {

// "" for a knob that a template of one's own brings.
std::string_view knob_meaning(std::string_view name);

}  // namespace lathe::api
