// What a core, its caches and threads that work together cost, for rules that weigh schedules:
// about the same of every processor, for the same space must come out on every machine. The
// analytic model knows more of the machine. bench/results/threads.md tells where the numbers of
// threads come from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lathe::space {

// Bytes of a core's caches, and of the last one.
// Weights of more bytes come from beyond the second cache in a program that does other things, too.
inline constexpr double kFarWeights = 256 << 10;
inline constexpr double kL1 = 48 << 10, kL2 = 1e6, kL3 = 32e6;
// Weights of more bytes come from memory: the last cache is shared with others, and with the rest
// of a program.
inline constexpr double kWeightsOfMemory = 8e6;
// Bytes after which places in the first cache repeat.
inline constexpr std::int64_t kPlacesRepeat = 4096;
inline constexpr std::int64_t kLine = 64;
// Bytes a cycle from each, and the share of the time that does not overlap with what takes longest.
inline constexpr double kL2Rate = 32, kL3Rate = 20, kMemoryRate = 7;
inline constexpr double kHiddenShare = 0.15;
// Of an addition, in cycles: fewer sums under way than start in that time wait for each other.
inline constexpr double kLatency = 4;
// Of blocks that threads share: the code around each and its first misses, in cycles; and how much
// longer they take where the last one is smaller, which has code of its own.
inline constexpr double kBlockCycles = 250, kTail = 1.03;
// What one thread alone would not choose must promise so much: its choice is known to be good.
inline constexpr double kOtherChoice = 1.08;
// A thread that is late leaves parts that others do; all wait for the last one. It costs this share
// of a part.
inline constexpr double kLate = 0.05;
// Estimates that differ by no more are alike: what is simpler is chosen.
inline constexpr double kAlike = 1.02;

// Cycles of two things that go on beside each other.
inline double beside(double a, double b) { return std::max(a, b) + kHiddenShare * std::min(a, b); }

// Of threads that work together, in cycles of a core: until so many threads have met at a barrier,
// when all are awake: the news of it travels through as many steps as their number has bits, and
// each has a line of its own to fetch.
inline double meet_cycles(int threads) {
  constexpr double kStep = 1000, kEach = 20;
  return threads < 2 ? 0 : kStep * std::log2(threads) + kEach * threads;
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
