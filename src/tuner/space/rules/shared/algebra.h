// Algebra before scheduling: rewrites that save operations, as the first steps of a schedule.
//
//   - A sum of products is computed in the order that costs least: what one factor alone has is
//     summed up first, products of several factors are two of them after the other, and what the
//     sum does not change is taken out of it.
//   - What a block would compute anew for every element of its result, for it depends on other axes
//     than that, is computed once and kept.
#pragma once

#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// Appends its steps to those of a nest as the program has it.
void rewrite_by_algebra(Prepared& prepared, const te::Workload& workload);

// About how many arithmetic operations of vectors the expression takes, without its reads.
double operations_of(const ir::Expr& e);

}  // namespace lathe::space
