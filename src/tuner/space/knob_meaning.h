// Tells in a sentence what each knob of a space means; docs/reading.md tells more.
#pragma once

#include <string>
#include <string_view>

namespace lathe::space {

// "" for a knob that comes from a template.
std::string knob_meaning(std::string_view name);

}  // namespace lathe::space
