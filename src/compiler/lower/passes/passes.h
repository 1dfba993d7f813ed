// The passes from flat program to flat program. pipeline.cpp lists them in order and tells why.
#pragma once

#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

// Simplifies what the ranges of loop variables decide: min, max, div, mod and comparisons, the
// branches and masks that these guard, and loops without or with one iteration. Drops unused lets.
flat::Program simplify(flat::Program program, const Target& target);

// Makes parallel regions that follow each other phases of one: then threads meet at a barrier
// instead of going back to the caller. What a region shares ends later for it.
flat::Program join_regions(flat::Program program, const Target& target);

// Keeps in registers what an iteration of a loop stores and the next one loads again, as scans do.
flat::Program carry(flat::Program program, const Target& target);

// Turns f16 and bf16 arithmetic into f32 arithmetic: registers and operations of those types become
// f32, loads convert, stores and casts round. A chain of operations then rounds once, where it is
// stored, instead of after every operation.
flat::Program promote_halves(flat::Program program, const Target& target);

// Writes exp, expm1, log, log1p, tanh, erf, sigmoid, pow, rsqrt, sin, cos and tan as arithmetic
// without branches or calls; floor, ceil and round too, where the target has no instruction for
// them. Largest errors in units in the last place: first those that bench_math found with fused
// multiply-adds (of which arguments, bench/results/math.md tells), then what
// tests/unit/lower/expand_math_test.cpp allows.
//            exp   log   tanh  erf   sigmoid  rsqrt  pow
//   f32      0.90  0.83  2.53  1.79  2.41     1.50   0.51
//   f64      0.86  0.76  2.19  0.93  1.95     1.47   0.84 of what is allowed
//   f32      1.5   1     2.6   2     2.5      1.5    1
//   f64      1.5   1.5   3     2     3        1.5    2 + 1.5 |y log2 x|
//            expm1  log1p  sin   cos   tan      the last three up to trigonometric_limit
//   f32      1.44   2.00   1.61  1.69  3.77
//   f64      1.88   2.29   1.53  1.47  3.08
//   f32      2.5    2.5    2     2     4
//   f64      2.5    2.5    2     2     4
// NaN, infinities, signed zeros, and subnormal arguments and results are those of libm.
flat::Program expand_math(flat::Program program, const Target& target);

// Writes casts between bf16 and f32 as integer arithmetic on the bits; casts between f16 and f32
// too, where the target has no instruction. Of those types only loads, stores and bitcasts remain.
// It must run after promote_halves.
flat::Program expand_conversions(flat::Program program, const Target& target);

// Numbers variables and registers in order of appearance and drops unused ones. Two programs that
// differ only in traces of how they were made become equal.
flat::Program renumber(flat::Program program, const Target& target);

}  // namespace lathe::lower
