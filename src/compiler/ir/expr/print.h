// Prints expressions in the notation of te/parse.h. Only InRange has no counterpart there.
#pragma once

#include <span>
#include <string>

#include "compiler/ir/expr/expr.h"

namespace lathe::ir {

// Names of the tensors (or buffers) and iterators that an expression refers to.
struct ExprNames {
  std::span<const std::string> tensors;
  std::span<const std::string> iters;
};

std::string print(const Affine& affine, std::span<const std::string> iters);  // "2*y + r - 1"
std::string print(const Expr& e, const ExprNames& names);

}  // namespace lathe::ir
