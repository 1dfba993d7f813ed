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
// True of a cast to i64 that an index of a Lookup has where none is written: of what is read or
// cast to an integer type.
bool is_implied_in_index(const Expr& e);
// An index of a Lookup: what it reads is an i64 there without a cast.
std::string print_index(const Expr& e, const ExprNames& names);

}  // namespace lathe::ir
