// tanh and erf: an odd polynomial near 0, where they are almost linear, and 1 minus an exponential
// further out. Both are computed, and one is selected. bench/math/polynomials derives the
// coefficients: minimax fits of the functions named beside them, weighted by what the result feels
// of them.
#include "compiler/lower/passes/math.h"
#include "compiler/lower/passes/real_format.h"

namespace lathe::lower {
namespace {

// (tanh(x) - x) / x^3 as a function of x^2, |x| <= 0.625.
V tanh_tail(const V& z) {
  if (z.type().dtype == Dtype::kF32)
    return polynomial(z, {-0.005693334620445967, 0.02062850445508957, -0.05373651534318924,
                          0.13331405818462372, -0.3333328068256378});
  return polynomial(z, {6.050165095114983e-06, -3.0205897886961433e-05, 9.157832911232909e-05,
                        -0.0002370239968180158, 0.000589456621185205, -0.0014557272102967262,
                        0.003592114222510607, -0.008863234338761653, 0.02186948847069967,
                        -0.05396825396614946, 0.1333333333332996, -0.33333333333333315});
}

// erf(x) / x - 1 as a function of x^2: |x| <= 0.9277 in f32, 1 in f64.
V erf_tail(const V& z) {
  if (z.type().dtype == Dtype::kF32)
    return polynomial(
        z, {7.995286432560533e-05, -0.0008049544994719326, 0.005192393437027931,
            -0.026855729520320892, 0.11283625662326813, -0.3761262893676758, 0.12837916612625122});
  return polynomial(
      z, {1.4751522985974033e-10, -1.667720470460273e-09, 1.6060403218245962e-08,
          -1.6562940180106858e-07, 1.6481491011731662e-06, -1.492690121549953e-05,
          0.00012055386731606613, -0.000854832854378919, 0.005223977652745608, -0.02686617064803234,
          0.11283791670971101, -0.376126389031841, 0.1283791670955126});
}

// 1 - erf(t) for t >= 0.92, as exactly as erf needs it: where t is large, it is nothing beside 1.
V erfc_of(const V& t) {
  if (t.type().dtype == Dtype::kF32) {
    // (-log(1 - erf(t)) - t) / t on [0.92, 4]
    const V q = polynomial(
        t, {1.1229079973418266e-05, -0.0003227921260986477, 0.0036424435675144196,
            -0.02376207895576954, 0.10623693466186523, 0.6351512670516968, 0.12864850461483002});
    return expand_exp(neg(fma(q, t, t)));
  }
  // (1 - erf(t)) e^(t^2) t as a function of (t-3)/(t+3), t on [1, 6]
  const V u = (t - 3) / (t + 3);
  const V p =
      polynomial(u, {-3.4609022171766505e-06, -1.2069053096986191e-05, 7.4450009591009685e-06,
                     7.0585132702084e-05, -8.350304201134766e-05, -0.00041207879793822474,
                     0.0012430039509849762, 0.0009108451962306895, -0.014019823411354432,
                     0.04635026336860239, -0.09546975032453354, 0.13988054759976487,
                     -0.14658304803296412, 0.09530622695922829, 0.5370034535441699});
  return expand_exp(neg(t * t)) * p / t;
}

}  // namespace

V expand_tanh(const V& x) {
  const V magnitude = abs(x);
  const V z = x * x;
  const V near = fma(magnitude * z, tanh_tail(z), magnitude);
  const V far = 1 - 2 / (expand_exp(magnitude + magnitude) + 1);
  return with_sign(select(magnitude < 0.625, near, far), x);
}

V expand_erf(const V& x) {
  const bool narrow = x.type().dtype == Dtype::kF32;
  const V magnitude = abs(x);
  const V z = x * x;
  const V near = fma(x, erf_tail(z), x);
  const V far = 1 - erfc_of(at_least(at_most(magnitude, narrow ? 4 : 6), narrow ? 0.9 : 1));
  return select(magnitude < (narrow ? 0.9277 : 1.0), near, with_sign(far, x));
}

}  // namespace lathe::lower
