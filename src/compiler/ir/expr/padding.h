// Reads that may leave their tensor, and what that means for a reduction.
#pragma once

#include "compiler/ir/expr/expr.h"

namespace lathe::ir {

// A read that may leave its tensor: a padded Read, or the Select by an InRange that inlining the
// tensor made of one.
struct PaddedRead {
  const void* node = nullptr;     // null: e is neither
  std::optional<double> outside;  // value read outside; nothing: not known beforehand
};
PaddedRead padded_read_of(const Expr& e);

// True if the body is the reduction's identity where that read lies outside its tensor. The term
// need not be computed there.
bool kills(ReduceOp reduce, const Expr& body, const PaddedRead& padded);
bool pad_kills(ReduceOp reduce, const Expr& body, const Read* read);

}  // namespace lathe::ir
