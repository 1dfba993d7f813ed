// What padded reads mean to a reduction.
#pragma once

#include "compiler/ir/expr/expr.h"

namespace lathe::ir {

// Whether a term of the reduction is its identity where the padded `read` of the body is outside its tensor: the term need
// not be computed there.
bool pad_kills(ReduceOp reduce, const Expr& body, const Read* read);

}  // namespace lathe::ir
