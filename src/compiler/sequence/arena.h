// One arena for what lives at different times (Pisarchyk and Lee, "Efficient Memory Management for
// Deep Neural Net Inference", 2020: offsets by size).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe::sequence {

inline constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Something of so many bytes that is there from one step to another, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0, last = 0;
};

struct Arena {
  std::vector<std::int64_t> offsets;  // by lifetime: multiples of kAlignment
  std::int64_t bytes = 0;
};

// Places where no two that live at a time overlap.
Arena arena_for(std::span<const Lifetime> lifetimes);

// The most bytes that are there in one step: no arena is smaller.
std::int64_t most_at_once(std::span<const Lifetime> lifetimes);

}  // namespace lathe::sequence
