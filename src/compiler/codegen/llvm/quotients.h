// Which quotients may have one rounding more than a division has.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::codegen {

// True if a whole number, a remainder or a comparison is made of a quotient in the same expression:
// a second rounding may change such a result by more than itself, and all quotients of the program
// shall agree. A comparison with 0 asks for the sign alone.
bool decides_by_quotients(const flat::Program& program);

// True if a scalar is what the caller gave, or a literal: quotients of whole numbers by it are then
// expected to be whole. What the program has computed, such as a sum, is rounded itself.
bool is_given(const flat::Program& program, const flat::Expr& scalar);

}  // namespace lathe::codegen
