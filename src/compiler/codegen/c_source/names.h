// Identifiers of generated C.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace lathe::codegen::c_source {

// Gives out identifiers, each once. A name of two characters or more ends in '_', or in a number
// behind one: so none is a word of the language, a function of its library, or one of the names
// that the writer makes itself (t0, r0).
class Names {
 public:
  std::string fresh(std::string_view hint);

 private:
  std::set<std::string, std::less<>> given_;
};

}  // namespace lathe::codegen::c_source
