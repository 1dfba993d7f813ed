#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/passes/arithmetic.h"
#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

using flat::Expr;

V from_bf16(const V& x) { return shl(x.bits(Dtype::kI32), 16).bits(Dtype::kF32); }

// Rounds to nearest, ties to even; a NaN stays a NaN.
V to_bf16(const V& x) {
  const V bits = x.bits(Dtype::kI32);
  const V high = shr(bits, 16);
  const V rounded = shr(plus(bits, 0x7fff) + (high & 1), 16);
  return select(x != x, high | 0x40, rounded).bits(Dtype::kBF16);
}

V from_f16(const V& x) {
  const V bits = x.bits(Dtype::kI32);
  const V sign = shl(bits & 0x8000, 16);
  const V exponent = bits & 0x7c00;
  const V magnitude = bits & 0x7fff;
  const V normal = plus(shl(magnitude, 13), std::int64_t{112} << 23);
  const V special = shl(magnitude, 13) | 0x7f800000;
  const V subnormal = (magnitude.as(Dtype::kF32) * 0x1p-24).bits(Dtype::kI32);
  const V wide = select(exponent == exponent.bits_like(0), subnormal,
                        select(exponent == exponent.bits_like(0x7c00), special, normal));
  return (wide | sign).bits(Dtype::kF32);
}

V to_f16(const V& x) {
  const V bits = x.bits(Dtype::kI32);
  const V sign = shr(bits, 16) & 0x8000;
  const V magnitude = bits & 0x7fffffff;
  const V odd = shr(magnitude, 13) & 1;
  const V normal = shr(plus(magnitude, 0xfff - (std::int64_t{112} << 23)) + odd, 13);
  // Adding 1/2 rounds a number below 2^-14 to a multiple of 2^-24, and leaves the factor in the low
  // bits.
  const V half = x.like(0.5);
  const V subnormal = (abs(x) + half).bits(Dtype::kI32) - half.bits(Dtype::kI32);
  const V finite = select(magnitude < magnitude.bits_like(0x38800000), subnormal, normal);
  const V overflow = magnitude.bits_like(0x477ff000) <= magnitude;
  const V special = select(x != x, bits.bits_like(0x7e00), bits.bits_like(0x7c00));
  return (select(overflow, special, finite) | sign).bits(Dtype::kF16);
}

}  // namespace

flat::Program expand_conversions(flat::Program program, const Target& target) {
  const bool f16_in_hardware = target.abilities().f16;
  const auto convert = [f16_in_hardware](const Expr& e) -> Expr {
    const auto* n = std::get_if<flat::Cast>(&e->value);
    if (n == nullptr) return e;
    const Dtype from = n->x->type.dtype, to = e->type.dtype;
    if (from == Dtype::kBF16) return from_bf16({n->x}).as(to).e;
    if (to == Dtype::kBF16) return to_bf16(V{n->x}.as(Dtype::kF32)).e;
    if (f16_in_hardware) return e;
    if (from == Dtype::kF16) return from_f16({n->x}).as(to).e;
    if (to == Dtype::kF16) return to_f16(V{n->x}.as(Dtype::kF32)).e;
    return e;
  };
  return flat::rewrite_exprs(std::move(program), convert, flat::contents::kHalf);
}

}  // namespace lathe::lower
