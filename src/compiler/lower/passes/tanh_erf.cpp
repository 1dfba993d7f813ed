// tanh and erf: an odd polynomial near 0, where they are almost linear, and 1 minus an exponential
// further out. Both are computed, and one is selected. Coefficients are Chebyshev fits of the
// functions named beside them.
#include "compiler/lower/passes/math.h"
#include "compiler/lower/passes/real_format.h"

namespace lathe::lower {
namespace {

// (tanh(x) - x) / x^3 as a function of x^2, |x| <= 0.625.
V tanh_tail(const V& z) {
  if (z.type().dtype == Dtype::kF32)
    return polynomial(z, {-0.006096714165908197, 0.020997178999074752, -0.05385090957851358,
                          0.13332769736976327, -0.33333328944134255});
  return polynomial(z, {6.485163482793113e-06, -3.12011014257974e-05, 9.257116129556769e-05,
                        -0.0002375906496055562, 0.0005896606577757043, -0.0014557754120478055,
                        0.0035921217511549622, -0.008863235103240878, 0.021869488519008305,
                        -0.05396825396789699, 0.13333333333333042, -0.3333333333333333});
}

// erf(x) / x - 1 as a function of x^2: |x| <= 0.9277 in f32, 1 in f64.
V erf_tail(const V& z) {
  if (z.type().dtype == Dtype::kF32)
    return polynomial(
        z, {8.349695777872343e-05, -0.0008138270468617322, 0.005200683626304907,
            -0.026859278717927478, 0.11283693816003502, -0.37612633666492956, 0.1283791666360906});
  return polynomial(
      z, {5.957176147748911e-11, -1.1372848856791674e-09, 1.4659775274047436e-08,
          -1.6350312701054695e-07, 1.6461000484121368e-06, -1.4925595266831182e-05,
          0.0001205533111164271, -0.000854832698083379, 0.0052239776248180145,
          -0.026866170645076792, 0.11283791670954879, -0.3761263890318375, 0.1283791670955126});
}

// 1 - erf(t) for t >= 0.92, as exactly as erf needs it: where t is large, it is nothing beside 1.
V erfc_of(const V& t) {
  if (t.type().dtype == Dtype::kF32) {
    // (-log(1 - erf(t)) - t) / t on [0.92, 4]
    const V q = polynomial(
        t, {1.6539778771083294e-05, -0.0003727074940935386, 0.0038271227769220467,
            -0.02410253503904473, 0.10656128778348795, 0.635004287026645, 0.1286715876781628});
    return expand_exp(neg(fma(q, t, t)));
  }
  // (1 - erf(t)) e^(t^2) t as a function of (t-3)/(t+3), t on [1, 6]
  const V u = (t - 3) / (t + 3);
  const V p =
      polynomial(u, {-2.6108123327542074e-06, -1.0984994722900036e-05, 7.0643345343920115e-06,
                     6.90915475301513e-05, -8.469145459289256e-05, -0.0004125676442033244,
                     0.0012428816699246456, 0.0009108246422574642, -0.014019825805898112,
                     0.04635026325779179, -0.09546975030393538, 0.139880547602935,
                     -0.14658304803290642, 0.09530622695922278, 0.5370034535441699});
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
