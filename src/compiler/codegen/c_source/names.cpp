#include "compiler/codegen/c_source/names.h"

#include <cctype>

namespace lathe::codegen::c_source {

std::string Names::fresh(std::string_view hint) {
  std::string name;
  for (const char c : hint) {
    const auto letter = static_cast<unsigned char>(c);
    name += letter < 0x80 && std::isalnum(letter) != 0 ? c : '_';
  }
  if (name.empty() || name[0] == '_' || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
    name = "x" + name;
  if (name.size() > 1) name += '_';
  std::string unique = name;
  for (int number = 2; !given_.insert(unique).second; ++number)
    unique = name + (name.size() > 1 ? "" : "_") + std::to_string(number);
  return unique;
}

}  // namespace lathe::codegen::c_source
