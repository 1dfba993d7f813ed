// The elementary functions that expand_math writes out, for x of type f32 or f64.
#pragma once

#include "base/target.h"
#include "compiler/lower/passes/arithmetic.h"

namespace lathe::lower {

V expand_exp(const V& x, const Abilities& able);
// The same for x that is not above 0, or NaN: its power of two needs no two halves.
V expand_exp_of_negative(const V& x, const Abilities& able);
V expand_log(const V& x);
// e^x - 1, also where it is small, for x between -80 and 80. NaN stays NaN.
V expand_expm1(const V& x);
V expand_tanh(const V& x);
V expand_erf(const V& x, const Abilities& able);
V expand_sigmoid(const V& x, const Abilities& able);
V expand_pow(const V& x, const V& y, const Abilities& able);
V expand_floor(const V& x);

}  // namespace lathe::lower
