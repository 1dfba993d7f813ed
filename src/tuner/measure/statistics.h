// Turns raw times into one number, and tells when to trust them.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "tuner/measure/measure.h"

namespace lathe::measure {

// Watches the sentinel. The fast end of the recent past counts as normal, so that a machine that
// changes its speed for good is soon normal again.
class SentinelGate {
 public:
  explicit SentinelGate(double tolerance) : tolerance_(tolerance) {}
  // Notes one time. Returns true if the machine was disturbed: slower than normal by more than the
  // tolerance.
  bool disturbed(double seconds);
  // 0 until anything was seen.
  double normal() const;
  // The least that normal() has been since it knew enough times; 0 until then.
  double fastest() const { return fastest_; }

 private:
  static constexpr std::size_t kMemory = 96;
  static constexpr std::size_t kFewest = 8;
  double tolerance_;
  double fastest_ = 0;
  std::deque<double> recent_;
};

// The median of the visits' lower quartiles, over the visits whose sentinel was within the
// tolerance of `normal`, or over all if none was. A visit without a call that counts is used only
// if there is no other.
double estimate(std::span<const Visit> visits, double normal, double tolerance);

// True if two or more undisturbed visits agree: others would, too.
bool agree(std::span<const Visit> visits, double normal, double tolerance);

}  // namespace lathe::measure
