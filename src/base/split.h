// Texts cut at a separator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// Every part, empty ones too: one more than there are separators. An empty text is one empty part.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace lathe
