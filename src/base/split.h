// Cuts texts at a separator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// Cuts a text at every separator. Empty parts count: there is one part more than separators, and an
// empty text is one empty part.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace lathe
