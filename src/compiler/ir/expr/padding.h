// What may leave its tensor, and what that means to a reduction.
#pragma once

#include "compiler/ir/expr/expr.h"

namespace lathe::ir {

// A padded read (a Read), or what inlining its tensor made of one, a choice by whether indices are
// in range (a Select).
struct Border {
  const void* node = nullptr;     // null: neither
  std::optional<double> outside;  // the value there; nothing: not a number known beforehand
};
Border border_of(const Expr& e);

// Whether a term of the reduction is its identity where the border of the body is outside its
// tensor: the term need not be computed there.
bool kills(ReduceOp reduce, const Expr& body, const Border& border);
bool pad_kills(ReduceOp reduce, const Expr& body, const Read* read);

}  // namespace lathe::ir
