// exp, log and the functions made of them. bench/math/polynomials derives the coefficients: minimax
// fits of the functions named beside them, weighted by what the result feels of them.
#include <cmath>

#include "compiler/lower/passes/math.h"
#include "compiler/lower/passes/real_format.h"

namespace lathe::lower {
namespace {

// (e^r - 1 - r) / r^2 for |r| <= log(2)/2.
V exp_tail(const V& r) {
  if (r.type().dtype == Dtype::kF32)
    return polynomial(r, {0.0013838906306773424, 0.008369192481040955, 0.04166810214519501,
                          0.16666516661643982, 0.4999999403953552});
  return polynomial(r, {2.0977633755907706e-09, 2.511393667614686e-08, 2.7557067895078373e-07,
                        2.7557228675498914e-06, 2.4801587559170136e-05, 0.000198412699033707,
                        0.001388888888877793, 0.008333333333313894, 0.041666666666666824,
                        0.16666666666666688, 0.5});
}

// log(2) in two parts; n times the first is exact for every exponent n.
struct Ln2 {
  double high, low;
};
Ln2 ln2_of(Dtype dtype) {
  if (dtype == Dtype::kF32) return {0x1.63p-1, -2.12194440054690583e-4};
  return {0x1.62e42fee00000p-1, 1.90821492927058770002e-10};
}

// (2 atanh(s) - 2s) / s^3 as a function of s^2, for 1/sqrt(2) <= (1+s)/(1-s) <= sqrt(2).
V atanh_tail(const V& z) {
  if (z.type().dtype == Dtype::kF32)
    return polynomial(
        z, {0.24286235868930817, 0.28498485684394836, 0.40000975131988525, 0.6666666269302368});
  return polynomial(
      z, {0.14795367496341386, 0.15314110466274283, 0.18183561905864432, 0.22222198621569303,
          0.2857142874189364, 0.3999999999941704, 0.6666666666666734});
}

// x = n log 2 + r with n = round(x / log 2).
struct Reduced {
  V shifted;  // has n + offset as an integer in the low bits
  V n, r;
};

// The offset is a whole number that the format has beside its rounding constant.
Reduced reduce(const V& x, std::int64_t offset) {
  const Dtype dtype = x.type().dtype;
  const double round = format_of(dtype).round + static_cast<double>(offset);
  const V shifted = fma(x, 1.4426950408889634, x.like(round));
  const V n = shifted - round;
  const Ln2 ln2 = ln2_of(dtype);
  return {shifted, n, fma(n, -ln2.low, fma(n, -ln2.high, x))};
}

// Where e^x is cut off as 0: far below -104 and -746. A result just under the least number takes a
// processor some 150 cycles, and one much smaller none: a masked place has an exponent of -inf.
double least_exponent(Dtype dtype, const Abilities& able) {
  if (able.scaling) return dtype == Dtype::kF32 ? -2000 : -20000;
  return dtype == Dtype::kF32 ? -170 : -1400;  // halves of 2^n are normal numbers
}
// Above these it is infinity.
double greatest_exponent(Dtype dtype) { return dtype == Dtype::kF32 ? 89 : 710; }

// e^r for |r| <= log(2)/2.
V exp_of_rest(const V& r) { return fma(fma(exp_tail(r), r, 1), r, 1); }

// 2^(n - bias) for the n that `number` has in its low bits.
V power_of_two(const V& number, Dtype dtype) {
  return shl(number, format_of(dtype).fraction).bits(dtype);
}

}  // namespace

// Multiplies e^r by 2^n, by an instruction or in two halves, so that overflow gives infinity, and
// results below the normal range are rounded once.
V expand_exp(const V& x, const Abilities& able) {
  const Dtype dtype = x.type().dtype;
  const RealFormat f = format_of(dtype);
  const V cut = at_least(at_most(x, greatest_exponent(dtype)), least_exponent(dtype, able));
  // With the exponents' bias for each half, nothing is negative.
  const Reduced reduced = reduce(cut, able.scaling ? 0 : 2 * f.bias);
  const V rest = exp_of_rest(reduced.r);
  if (able.scaling) return apply(flat::BinaryOp::kScale, rest, reduced.n);
  // What is above the low bits leaves the half, and the shifts drop it.
  const V number = reduced.shifted.bits(f.bits);
  const V half = shr(number, 1);
  return rest * power_of_two(half, dtype) * power_of_two(number - half, dtype);
}

// 2^n is at least 2^-188 (f32), so 2^(n + 64) is a normal number, and so is e^r times it.
V expand_exp_of_negative(const V& x, const Abilities& able) {
  constexpr int kUp = 64;
  const auto least = [&](Dtype dtype) {
    if (able.scaling) return least_exponent(dtype, able);
    return dtype == Dtype::kF32 ? -130.0 : -751.0;
  };
  const Dtype dtype = x.type().dtype;
  const RealFormat f = format_of(dtype);
  const V cut = at_least(x, least(dtype));
  const Reduced reduced = reduce(cut, able.scaling ? 0 : f.bias + kUp);
  const V rest = exp_of_rest(reduced.r);
  if (able.scaling) return apply(flat::BinaryOp::kScale, rest, reduced.n);
  const V power = power_of_two(reduced.shifted.bits(f.bits), dtype);
  return rest * power * std::ldexp(1.0, -kUp);
}

V expand_small_expm1(const V& x) {
  const Dtype dtype = x.type().dtype;
  const RealFormat f = format_of(dtype);
  const Reduced reduced = reduce(x, f.bias);
  const V& r = reduced.r;
  const V less = fma(r * r, exp_tail(r), r);  // e^r - 1
  const V power = power_of_two(reduced.shifted.bits(f.bits), dtype);
  return fma(power, less, power - 1);
}

// As above, but by way of half the result, which is no infinity where the result is none.
V expand_expm1(const V& x) {
  const Dtype dtype = x.type().dtype;
  const bool narrow = dtype == Dtype::kF32;
  const RealFormat f = format_of(dtype);
  const V cut = at_least(at_most(x, greatest_exponent(dtype)), narrow ? -20 : -40);
  const Reduced reduced = reduce(cut, f.bias - 1);
  const V& r = reduced.r;
  const V less = fma(r * r, exp_tail(r), r);
  const V half = power_of_two(reduced.shifted.bits(f.bits), dtype);
  const V half_result = fma(half, less, half - 0.5);
  // Here x is as near, keeps the sign of a zero, and has no half that is rounded.
  const V tiny = abs(x) < (narrow ? 0x1p-30 : 0x1p-60);
  return select(tiny, x, half_result + half_result);
}

// log x = k log 2 + log m with m in [1/sqrt(2), sqrt(2)), and log m = 2 atanh((m-1)/(m+1)).
V expand_log(const V& x) {
  const Dtype dtype = x.type().dtype;
  const RealFormat f = format_of(dtype);
  const bool narrow = dtype == Dtype::kF32;
  const double smallest_normal = narrow ? 0x1p-126 : 0x1p-1022;
  const V tiny = x < smallest_normal;
  const V normal = select(tiny, x * (narrow ? 0x1p25 : 0x1p54), x);
  const std::int64_t sqrt_half = narrow ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;  // its bits
  const std::int64_t one = f.bias << f.fraction;
  const V shifted = plus(normal.bits(f.bits), one - sqrt_half);
  const V exponent = plus(shr(shifted, f.fraction), -f.bias).as(dtype);
  const V k = exponent - select(tiny, x.like(narrow ? 25 : 54), x.like(0));
  const V m = plus(shifted & ((std::int64_t{1} << f.fraction) - 1), sqrt_half).bits(dtype);
  const V g = m - 1;
  const V s = g / (2 + g);
  const V z = s * s;
  const V half_square = g * 0.5 * g;
  // log(1+g) = g - g^2/2 + s (g^2/2 + z R(z))
  const Ln2 ln2 = ln2_of(dtype);
  const V tail = fma(s, fma(z, atanh_tail(z), half_square), k * ln2.low) - half_square;
  const V result = fma(k, ln2.high, tail + g);
  const V infinity = x.like(narrow ? HUGE_VALF : HUGE_VAL);
  const V defined = select(x == 0.0, neg(infinity), select(x < 0.0, x.like(NAN), result));
  return select(x < infinity, defined, x);  // infinity and NaN are their own logarithms
}

// log(u) for u = 1 + x, times x / (u - 1), which is what rounding u took of x. By Kahan.
V expand_log1p(const V& x) {
  const V u = 1 + x;
  const V scaled = expand_log(u) * (x / (u - 1));
  const V infinity = x.like(x.type().dtype == Dtype::kF32 ? HUGE_VALF : HUGE_VAL);
  return select(u == 1.0 || x == infinity, x, scaled);
}

V expand_sigmoid(const V& x, const Abilities& able) {
  const V e = expand_exp_of_negative(neg(abs(x)), able);
  return select(x < 0.0, e, x.like(1)) / (1 + e);
}

// f32 is computed by way of f64, where e^(y log x) is exact enough.
V expand_pow(const V& x, const V& y, const Abilities& able) {
  if (x.type().dtype == Dtype::kF32)
    return expand_pow(x.as(Dtype::kF64), y.as(Dtype::kF64), able).as(Dtype::kF32);
  const V magnitude = abs(x);
  const V unsigned_power = expand_exp(y * expand_log(magnitude), able);
  const V half = y * 0.5;
  const V integral = expand_floor(y) == y;
  const V odd = integral && expand_floor(half) != half;
  const V infinite = abs(y) == HUGE_VAL;
  const V power = select(odd, with_sign(unsigned_power, x), unsigned_power);
  const V defined =
      select(x < 0.0 && x != x.like(-HUGE_VAL) && !(integral || infinite), x.like(NAN), power);
  const V one = x == 1.0 || y == 0.0 || (magnitude == 1.0 && infinite);
  return select(one, x.like(1), defined);
}

// Rounds |x| to an integer by adding 2^fraction. NaN and any x beyond 2^fraction stay as they are.
V expand_round(const V& x) {
  const RealFormat f = format_of(x.type().dtype);
  const double whole = f.round / 1.5;
  const V magnitude = abs(x);
  return select(magnitude < whole, with_sign((magnitude + whole) - whole, x), x);
}

// The same, and then steps down if that went up.
V expand_floor(const V& x) {
  const RealFormat f = format_of(x.type().dtype);
  const double whole = f.round / 1.5;
  const V magnitude = abs(x);
  const V rounded = with_sign((magnitude + whole) - whole, x);
  const V down = select(x < rounded, rounded - 1, rounded);
  return select(magnitude < whole, down, x);
}

}  // namespace lathe::lower
