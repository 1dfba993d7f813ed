// A part of verify() (flat.h): what the items of a group do together.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

// Which values differ among the items of a group: those made of an item's index. Data is not looked
// into: it may.
class Differing {
 public:
  explicit Differing(std::size_t vars) : differs_(vars) {}
  void set(int var, bool differs) { differs_[static_cast<std::size_t>(var)] = differs ? 1 : 0; }
  bool of(const Expr& e) const;

 private:
  std::vector<char> differs_;  // by variable
};

// What is wrong with the statement, whose expressions are right and whose buffers exist; or
// nothing.
std::string fault_of(const Program& program, const AsyncCopy& n);
std::string fault_of(const Grid& grid, const Exchange& n);

}  // namespace lathe::flat
