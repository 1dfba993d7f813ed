// Quotes texts for a shell.
#pragma once

#include <string>

namespace lathe {

// Quotes a text, so that the shell sees one word, whatever is in it
std::string shell_word(const std::string& text);

}  // namespace lathe
