// sin, cos and tan: what is left of x after a number of quarter turns, and polynomials of that.
// bench/math/polynomials derives the coefficients: minimax fits of the functions named beside them,
// weighted by what the result feels of them.
#include "compiler/lower/passes/math.h"
#include "compiler/lower/passes/real_format.h"

namespace lathe::lower {
namespace {

// (sin(r) - r) / r^3 as a function of r^2, |r| <= 0.84 (f32) or pi/4 (f64).
V sin_tail(const V& z) {
  if (z.type().dtype == Dtype::kF32)
    return polynomial(z, {-0.00019471060659270734, 0.008331825956702232, -0.16666649281978607});
  return polynomial(z, {1.5895433168501975e-10, -2.5050734387971833e-08, 2.755731353851089e-06,
                        -0.00019841269829358528, 0.00833333333332184, -0.1666666666666663});
}

// (cos(r) - 1 + r^2/2) / r^4 as a function of r^2, on the same intervals.
V cos_tail(const V& z) {
  if (z.type().dtype == Dtype::kF32)
    return polynomial(z, {2.43769318331033e-05, -0.001388679607771337, 0.04166663438081741});
  return polynomial(z, {-1.1358749071604216e-11, 2.087570539365543e-09, -2.755731421702785e-07,
                        2.4801587289002062e-05, -0.0013888888888873342, 0.041666666666666595});
}

// A quarter turn, pi/2, in parts.
using Parts = std::initializer_list<double>;
// Parts of 24 and of 53 bits: n times the first, subtracted and rounded once, is exact.
constexpr Parts kOf24 = {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.846988p-48};
constexpr Parts kOf53 = {0x1.921fb54442d18p+0, 0x1.1a62633145c06p-54, 0x1.c1cd129024e08p-107};
// Parts of 27 bits in an f64: n times each of them is exact for n up to 2^26.
constexpr Parts kOf27 = {0x1.921fb54p+0, 0x1.10b461p-30, 0x1.a62633p-58, 0x1.45c06e0e68948p-86};

// x = n pi/2 + rest, where n is a whole number.
struct Turned {
  V number;  // n is in its low bits
  V rest;
};

// Beyond the limit of arguments the rest is any number, so it is cut off. That of infinity is NaN.
Turned turned(const V& x, const Parts& quarter) {
  const double round = format_of(x.type().dtype).round;
  const V shifted = fma(x, 0.63661977236758134308, x.like(round));  // 2 / pi
  const V n = shifted - round;
  V rest = x;
  for (const double part : quarter) rest = fma(n, -part, rest);
  return {shifted.bits(format_of(x.type().dtype).bits), at_least(at_most(rest, 0.9), -0.9)};
}

// Without multiply-adds that round once, f32 goes by way of f64.
Turned turned(const V& x, const Abilities& able) {
  if (x.type().dtype == Dtype::kF64) return turned(x, able.fma ? kOf53 : kOf27);
  if (able.fma) return turned(x, kOf24);
  const Turned wide = turned(x.as(Dtype::kF64), kOf27);
  return {wide.number.as(Dtype::kI32), wide.rest.as(Dtype::kF32)};
}

struct SinCos {
  V sin, cos;
};
SinCos sin_cos_of_rest(const V& r) {
  const V z = r * r;
  return {fma(r * z, sin_tail(z), r), fma(z * z, cos_tail(z), fma(z, -0.5, z.like(1)))};
}

V is_odd(const V& number) { return (number & 1) != number.bits_like(0); }

// x, with its sign changed where that bit of the number is 1, and again where the integer `signs`
// has its sign bit.
V negated_by(const V& x, const V& number, int bit, const V& signs) {
  const RealFormat f = format_of(x.type().dtype);
  const int last = 8 * size_of(f.bits) - 1;
  return (x.bits(f.bits) ^ ((shl(number, last - bit) ^ signs) & f.sign)).bits(x.type().dtype);
}

V bits_of(const V& x) { return x.bits(format_of(x.type().dtype).bits); }

}  // namespace

// After n quarter turns, n from 0 to 3, the sine is sin r, cos r, -sin r and -cos r. Of |x| and
// with the sign of x, so that it is -0 of -0.
V expand_sin(const V& x, const Abilities& able) {
  const Turned at = turned(abs(x), able);
  const SinCos of = sin_cos_of_rest(at.rest);
  return negated_by(select(is_odd(at.number), of.cos, of.sin), at.number, 1, bits_of(x));
}

// And the cosine is the sine one quarter turn further.
V expand_cos(const V& x, const Abilities& able) {
  const Turned at = turned(x, able);
  const SinCos of = sin_cos_of_rest(at.rest);
  const V number = plus(at.number, 1);
  return negated_by(select(is_odd(number), of.cos, of.sin), number, 1, number.bits_like(0));
}

// After an odd number of quarter turns it is -cos r / sin r.
V expand_tan(const V& x, const Abilities& able) {
  const Turned at = turned(abs(x), able);
  const SinCos of = sin_cos_of_rest(at.rest);
  const V odd = is_odd(at.number);
  const V size = select(odd, of.cos, of.sin) / select(odd, of.sin, of.cos);
  return negated_by(size, at.number, 0, bits_of(x));
}

}  // namespace lathe::lower
