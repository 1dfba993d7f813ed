// Divisions whose quotient decides about something that jumps: a whole number, a comparison. There
// a second rounding may change a result by more than itself.
#pragma once

#include <unordered_set>

#include "compiler/ir/flat/flat.h"

namespace lathe::codegen {

// Those below floor, ceil, casts to integers, comparisons and remainders, within one expression.
std::unordered_set<const flat::Node*> exact_divisions(const flat::Program& program);

}  // namespace lathe::codegen
