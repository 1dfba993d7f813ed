// What a statement changes and uses: for the phis of loops and branches, and for the context of
// outlined loops.
#pragma once

#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::codegen {

struct Written {
  std::vector<int> regs, buffers;  // sorted, each once
};
Written written_by(const flat::Stmt& stmt);

// Vars read in the statement and defined outside of it, sorted.
std::vector<int> free_vars(const flat::Stmt& stmt);

}  // namespace lathe::codegen
