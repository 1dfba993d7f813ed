// What stages cost, for rules that weigh one against another.
#pragma once

#include <algorithm>

#include "compiler/te/workload.h"

namespace lathe::space {

// Of a core, about: bytes, bytes a cycle (model::Machine knows more of the machine than a rule
// may), and the share of the time that does not overlap with what takes longest.
inline constexpr double kL2 = 1e6, kL3 = 32e6;
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

// About how many cycles one thread needs for a stage, in vectors of so many lanes at the peak: 0
// for one that depends on constants alone.
double cycles_of(const te::Workload& workload, const te::Stage& stage, int lanes);

}  // namespace lathe::space
