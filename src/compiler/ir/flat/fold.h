// The arithmetic of the constructors: what `binary` does before it makes a node.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

// The simpler expression equal to `a op b`, or null. Operands have one integer or bool type.
Expr fold_int(BinaryOp op, const Expr& a, const Expr& b);
// Only what is exact for every value, NaN and -0 included: x*1, x/1.
Expr fold_float(BinaryOp op, const Expr& a, const Expr& b);

}  // namespace lathe::flat
