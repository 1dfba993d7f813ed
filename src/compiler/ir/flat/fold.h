// The arithmetic that `binary` does before it makes a node.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

// A simpler expression that equals `a op b`, or null. Both operands have one integer or bool type.
Expr fold_int(BinaryOp op, const Expr& a, const Expr& b);
// Folds only what is exact for every value, NaN and -0 included: x*1, x/1.
Expr fold_float(BinaryOp op, const Expr& a, const Expr& b);

}  // namespace lathe::flat
