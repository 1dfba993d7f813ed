// Operations of index expressions as those of flat programs.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

// Operands of one type, as vectors of equally many lanes or as scalars. What flat programs have no
// operation for is written with those that they have: sign, isnan, isinf, ~, and shifts by any
// number.
flat::Expr flat_operation(ir::UnaryOp op, flat::Expr x);
flat::Expr flat_operation(ir::BinaryOp op, flat::Expr a, flat::Expr b);

}  // namespace lathe::lower
