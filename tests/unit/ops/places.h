// Indices that are data, as the tests see them.
#pragma once

#include "unit/ops/evaluated.h"

namespace lathe::ops {

// No place at all.
constexpr std::int64_t kNowhere = -1;

// Where an index points to in `size` places.
inline std::int64_t place_of(std::int64_t index, std::int64_t size, const std::string& outside) {
  if (outside == "negative") return index < 0 ? index + size : index;
  if (outside == "clip") return std::min(std::max<std::int64_t>(index, 0), size - 1);
  if (outside == "wrap") return ((index % size) + size) % size;
  if (outside == "fill" || outside == "drop") return index < 0 || index >= size ? kNowhere : index;
  return index;
}

// Numbers that make sense where `outside` says so; those of all kinds otherwise.
inline interp::Tensor indices_of(const Index& shape, std::int64_t size, const std::string& outside,
                                 const char* dtype, std::uint64_t seed) {
  Rng rng(seed);
  interp::Tensor out{*dtype_from_name(dtype), shape, {}, {}};
  std::int64_t count = 1;
  for (const std::int64_t s : shape) count *= s;
  const bool is_signed = dtype[0] == 'i';
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t low = outside == "promised" ? 0 : -size, high = size - 1;
    if (outside != "promised" && outside != "negative") low = -3 * size - 1, high = 3 * size;
    if (!is_signed) low = 0;
    out.values.push_back(static_cast<double>(rng.between(low, high)));
  }
  return out;
}

inline std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

}  // namespace lathe::ops
