// How much work an operation is, for rules and models that weigh one program against another.
#pragma once

#include "compiler/ir/expr/expr.h"

namespace lathe::ir {

enum class Effort {
  kShort,     // an instruction or a few
  kRoot,      // as a division
  kFunction,  // a polynomial and what is around it, as exp
};
Effort effort_of(UnaryOp op);

}  // namespace lathe::ir
