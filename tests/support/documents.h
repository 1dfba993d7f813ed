// The examples that a page of the documents shows.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace lathe {

// The text of every block that is fenced as `kind`, in order.
inline std::vector<std::string> examples_of(const std::string& page, const std::string& kind) {
  std::ifstream file(page);
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```" + kind;
      if (inside) out.emplace_back();
    } else if (inside) {
      out.back() += line + "\n";
    }
  }
  return out;
}

}  // namespace lathe
