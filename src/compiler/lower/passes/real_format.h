// The binary formats f32 and f64, as expansions need them: the integer type of the same size and
// the constants of the layout.
#pragma once

#include "compiler/lower/passes/arithmetic.h"

namespace lathe::lower {

struct RealFormat {
  Dtype bits;              // the integer type of the same size
  int fraction;            // bits of the fraction
  std::int64_t bias;       // of the exponent
  std::int64_t sign;       // the sign bit
  std::int64_t magnitude;  // all other bits
  double round;  // 1.5 * 2^fraction: adding it rounds to an integer, which the low bits then hold
};

inline RealFormat format_of(Dtype dtype) {
  if (dtype == Dtype::kF32) return {Dtype::kI32, 23, 127, INT32_MIN, INT32_MAX, 0x1.8p23};
  return {Dtype::kI64, 52, 1023, INT64_MIN, INT64_MAX, 0x1.8p52};
}

// |a| with the sign of b.
inline V with_sign(const V& a, const V& b) {
  const RealFormat f = format_of(a.type().dtype);
  return ((a.bits(f.bits) & f.magnitude) | (b.bits(f.bits) & f.sign)).bits(a.type().dtype);
}

}  // namespace lathe::lower
