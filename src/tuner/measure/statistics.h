// From raw times to one number, and when to trust them.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "tuner/measure/measure.h"

namespace lathe::measure {

// Watches the sentinel kernel. What is normal is the fast end of the recent past, so that a machine that changes its
// speed for good is soon normal again.
class SentinelGate {
 public:
  explicit SentinelGate(double tolerance) : tolerance_(tolerance) {}
  // Notes one time; true if the machine was disturbed: slower than normal by more than the tolerance.
  bool disturbed(double seconds);
  // 0 until anything was seen.
  double normal() const;

 private:
  static constexpr std::size_t kMemory = 96;
  double tolerance_;
  std::deque<double> recent_;
};

// Median of the visits' lower quartiles, over the visits whose sentinel was within tolerance of `normal`; over all where
// none was.
double estimate(std::span<const Visit> visits, double normal, double tolerance);

}  // namespace lathe::measure
