// Gives the variables, registers and buffers of kernels other numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

// New numbers, by the old ones. Without any, all keep theirs.
struct Renaming {
  std::vector<int> vars, regs, buffers;
  // By the old number of a buffer, what is added to its indices; empty: nothing.
  std::vector<std::int64_t> shifts = {};
};

// Kernels may share nodes: each is made anew once for all of them.
void rename(std::vector<Kernel>& kernels, const Renaming& to);

}  // namespace lathe::flat
