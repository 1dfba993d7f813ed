// Texts for a shell.
#pragma once

#include <string>

namespace lathe {

std::string shell_word(const std::string& text);  // in quotes: as one word, whatever is in it

}  // namespace lathe
