// The elementary functions that expand_math writes out, for x of type f32 or f64.
#pragma once

#include "base/target.h"
#include "compiler/lower/passes/arithmetic.h"

namespace lathe::lower {

V expand_exp(const V& x, const Abilities& able);
// The same for x that is not above 0, or NaN: its power of two needs no two halves.
V expand_exp_of_negative(const V& x, const Abilities& able);
V expand_log(const V& x);
// log(1 + x) and e^x - 1, also where they are small.
V expand_log1p(const V& x);
V expand_expm1(const V& x);
// The latter for x between -80 and 80, but 0 of -0. NaN stays NaN.
V expand_small_expm1(const V& x);
// As exact as promised up to trigonometric_limit (ir/expr/expr.h), and beyond it some numbers
// between -1 and 1, or of tan any.
V expand_sin(const V& x, const Abilities& able);
V expand_cos(const V& x, const Abilities& able);
V expand_tan(const V& x, const Abilities& able);
V expand_tanh(const V& x);
V expand_erf(const V& x, const Abilities& able);
V expand_sigmoid(const V& x, const Abilities& able);
V expand_pow(const V& x, const V& y, const Abilities& able);
V expand_floor(const V& x);
V expand_round(const V& x);  // to the nearest integer, the even one of two

}  // namespace lathe::lower
