// What threads that work together cost each other, in cycles of a core, for estimates that rank
// schedules: bench/README.md tells where the numbers come from.
#pragma once

#include <algorithm>
#include <cmath>

namespace lathe::space {

// Until so many threads have met at a barrier, when all are awake: the news of it travels through
// as many steps as their number has bits, and each has a line of its own to fetch.
inline double meet_cycles(int threads) {
  constexpr double kStep = 1000, kLine = 20;
  return threads < 2 ? 0 : kStep * std::log2(threads) + kLine * threads;
}
// Until the threads of a parallel region have begun and met.
inline double start_cycles(int threads) {
  constexpr double kBegin = 1500, kEach = 30;
  return threads < 2 ? 0 : kBegin + kEach * threads + meet_cycles(threads);
}

// The share of what one thread alone gets from the last cache, where so many use it, and from
// memory: eight, or six of them can have as much as that, and a core keeps half of its rate from
// the cache.
inline double share_of_l3(int threads) {
  constexpr double kAsMuch = 8, kLeast = 0.5;
  return std::max(kLeast, std::min(1.0, kAsMuch / threads));
}
inline double share_of_memory(int threads) {
  constexpr double kAsMuch = 6;
  return std::min(1.0, kAsMuch / threads);
}

}  // namespace lathe::space
