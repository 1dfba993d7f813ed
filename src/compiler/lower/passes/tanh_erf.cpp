// tanh and erf, by way of e^x - 1, which is exact near 0, too. bench/math/polynomials derives the
// coefficients: minimax fits of the functions named beside them, weighted by what the result feels
// of them.
#include "compiler/lower/passes/math.h"
#include "compiler/lower/passes/real_format.h"

namespace lathe::lower {
namespace {

// (-log(1 - erf(t)) - t) / t on [0, 4].
V log_erfc_tail(const V& t) {
  return polynomial(t, {-9.385961675434373e-06, 0.00011884795094374567, -0.0006373301148414612,
                        0.0016756381373852491, -0.0001694842503638938, -0.019147826358675957,
                        0.10277630388736725, 0.6366195678710938, 0.12837916612625122});
}

// erf(x) / x - 1 as a function of x^2, |x| <= 1.
V erf_tail(const V& z) {
  return polynomial(
      z, {1.4751522985974033e-10, -1.667720470460273e-09, 1.6060403218245962e-08,
          -1.6562940180106858e-07, 1.6481491011731662e-06, -1.492690121549953e-05,
          0.00012055386731606613, -0.000854832854378919, 0.005223977652745608, -0.02686617064803234,
          0.11283791670971101, -0.376126389031841, 0.1283791670955126});
}

// 1 - erf(t) for t >= 1, as exactly as erf needs it: where t is large, it is nothing beside 1.
V erfc_of(const V& t, const Abilities& able) {
  // (1 - erf(t)) e^(t^2) t as a function of (t-3)/(t+3), t on [1, 6]
  const V u = (t - 3) / (t + 3);
  const V p =
      polynomial(u, {-3.4609022171766505e-06, -1.2069053096986191e-05, 7.4450009591009685e-06,
                     7.0585132702084e-05, -8.350304201134766e-05, -0.00041207879793822474,
                     0.0012430039509849762, 0.0009108451962306895, -0.014019823411354432,
                     0.04635026336860239, -0.09546975032453354, 0.13988054759976487,
                     -0.14658304803296412, 0.09530622695922829, 0.5370034535441699});
  return expand_exp_of_negative(neg(t * t), able) * p / t;
}

}  // namespace

// (e^2t - 1) / (e^2t + 1), which is 1 beyond the bounds.
V expand_tanh(const V& x) {
  const V t = at_most(abs(x), x.type().dtype == Dtype::kF32 ? 10 : 20);
  const V less = expand_small_expm1(t + t);
  return with_sign(less / (less + 2), x);
}

// In f32 1 - (1 - erf(t)), by way of the logarithm; in f64 one formula near 0 and one further out.
V expand_erf(const V& x, const Abilities& able) {
  if (x.type().dtype == Dtype::kF32) {
    const V t = at_most(abs(x), 4);
    return with_sign(expand_small_expm1(neg(fma(log_erfc_tail(t), t, t))), x);
  }
  const V magnitude = abs(x);
  const V z = x * x;
  const V near = fma(x, erf_tail(z), x);
  const V far = 1 - erfc_of(at_least(at_most(magnitude, 6), 1), able);
  return select(magnitude < 1.0, near, with_sign(far, x));
}

}  // namespace lathe::lower
