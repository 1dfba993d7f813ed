// Brings scalars and vectors together: a scalar is the same in every lane.
#pragma once

#include <algorithm>

#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

inline flat::Expr widen(const flat::Expr& e, int lanes) {
  return e->type.lanes == lanes ? e : flat::broadcast(e, lanes);
}

// a and b; a null condition is true.
inline flat::Expr both(const flat::Expr& a, const flat::Expr& b) {
  if (!a || !b) return a ? a : b;
  const int lanes = std::max(a->type.lanes, b->type.lanes);
  return flat::binary(flat::BinaryOp::kAnd, widen(a, lanes), widen(b, lanes));
}

}  // namespace lathe::lower
