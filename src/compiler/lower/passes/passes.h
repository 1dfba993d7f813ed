// The passes from flat program to flat program. pipeline.cpp has them in order and says why there.
#pragma once

#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

// Index arithmetic and predicates that the ranges of loop variables decide: min, max, div, mod and
// comparisons, the branches and masks they guard, loops without or with one iteration, unused lets.
flat::Program simplify(flat::Program program, const Target& target);

// f16 and bf16 arithmetic becomes f32 arithmetic: registers and operations of those types turn f32;
// loads convert, stores and casts round. A chain of operations then rounds once, where it is
// stored, instead of after every step.
flat::Program promote_halves(flat::Program program, const Target& target);

// exp, log, tanh, erf, sigmoid, pow and rsqrt as arithmetic without branches or calls; floor and
// ceil where the target has no instruction for them. Errors (measured by
// tests/unit/lower/expand_math_test.cpp), in units in the last place:
//            exp   log   tanh  erf   sigmoid  rsqrt  pow
//   f32      1.5   1     2     1.5   2.5      1.5    1
//   f64      1.5   1.5   3     2     3        1.5    2 + 1.5 |y log2 x|
// NaN, infinities, signed zeros and subnormal arguments and results are those of libm.
flat::Program expand_math(flat::Program program, const Target& target);

// Casts between bf16 and f32, and between f16 and f32 where the target has no instruction, as
// integer arithmetic on the bits. What is left of those types are loads, stores and bitcasts. After
// promote_halves.
flat::Program expand_conversions(flat::Program program, const Target& target);

// Vars and registers numbered in order of appearance, unused ones dropped: two programs that differ
// only in what their making left behind become equal.
flat::Program renumber(flat::Program program, const Target& target);

}  // namespace lathe::lower
