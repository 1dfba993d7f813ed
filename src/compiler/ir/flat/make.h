// Making nodes without folding: for the constructors in flat.cpp and fold.cpp only.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::flat {

Expr make(decltype(Node::value) value, Type type);  // computes the hash
Stmt make_stmt(decltype(StmtNode::value) value);

}  // namespace lathe::flat
