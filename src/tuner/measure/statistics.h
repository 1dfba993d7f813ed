// From raw times to one number, and when to trust them.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "tuner/measure/measure.h"

namespace lathe::measure {

// Watches the sentinel kernel. What is normal is the fast end of the recent past, so that a machine
// that changes its speed for good is soon normal again.
class SentinelGate {
 public:
  explicit SentinelGate(double tolerance) : tolerance_(tolerance) {}
  // Notes one time; true if the machine was disturbed: slower than normal by more than the
  // tolerance.
  bool disturbed(double seconds);
  // 0 until anything was seen.
  double normal() const;
  // The least that normal() ever was, once it means something; 0 until then.
  double fastest() const { return fastest_; }

 private:
  static constexpr std::size_t kMemory = 96;
  static constexpr std::size_t kFewest = 8;
  double tolerance_;
  double fastest_ = 0;
  std::deque<double> recent_;
};

// Median of the visits' lower quartiles, over the visits whose sentinel was within tolerance of
// `normal`; over all where none was. A visit of which no call counts stands for itself only where
// there is no other.
double estimate(std::span<const Visit> visits, double normal, double tolerance);

// Two undisturbed visits, or more, have said the same: others would, too.
bool agree(std::span<const Visit> visits, double normal, double tolerance);

}  // namespace lathe::measure
