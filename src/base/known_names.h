// Answers to an unknown name: the known ones, and which of them may be meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// "; did you mean B?" if one of the names is close to `name`, else "".
std::string did_you_mean(const std::vector<std::string>& names, std::string_view name);
// "A, B, C", followed by that.
std::string known_names(const std::vector<std::string>& names, std::string_view name);
// The same of a list that is a text, as "A, B, C".
std::string known_names(std::string_view list, std::string_view name);
// The same of element types. It knows how others spell them: float32.
std::string known_dtypes(std::string_view name);

}  // namespace lathe
