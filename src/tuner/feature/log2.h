// A logarithm for feature rows. A row needs hundreds, so it has no branches and vectorizes; it is
// the same on every machine, so that stored models see the same rows everywhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace lathe::feature {

// log2 of x > 0 (normal): exact for powers of two, else within 2e-7.
inline float log2_of(float x) {
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log2 m comes from the series of atanh((m - 1) / (m
  // + 1)).
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t shifted = bits - 0x3f3504f3U;
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(shifted) >> 23);
  const float m = std::bit_cast<float>((shifted & 0x007fffffU) + 0x3f3504f3U);
  const float t = (m - 1.0F) / (m + 1.0F), t2 = t * t;
  const float series = 2.88539008F + t2 * (0.961796694F + t2 * (0.577078016F + t2 * 0.412198583F));
  return exponent + t * series;
}

inline float log2_at_least_one(double x) { return log2_of(static_cast<float>(std::max(x, 1.0))); }

}  // namespace lathe::feature
