#include "api/time_shares.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lathe::api {
namespace {

constexpr double kRaceShare = 0.1, kLastShare = 0.1;
constexpr double kMostReserved = 1.0 / 3;
constexpr double kLeastTaskRace = 1;  // seconds, with what it builds
constexpr double kLastSeconds = 5;    // where there is no limit, at least

}  // namespace

TimeShares::TimeShares(double seconds, Clock clock)
    : seconds_(seconds), clock_(std::move(clock)), began_(clock_()) {}

double TimeShares::left_before(double share) const {
  if (!limited()) return std::numeric_limits<double>::infinity();
  return seconds_ * (1 - share) - elapsed();
}

void TimeShares::reserve(double seconds) {
  reserved_ = std::min(seconds, kMostReserved * seconds_);
}

double TimeShares::left() const { return left_before(0); }

double TimeShares::left_for_turns() const {
  return left_before(kRaceShare + kLastShare) - reserved_;
}

// A race that waits for a busy machine takes nothing from those after it.
double TimeShares::left_for_race(std::size_t tasks) const {
  const double left = left_before(kLastShare) - reserved_;
  if (left < kLeastTaskRace) return 0;
  return std::min(left, std::max(kLeastTaskRace, left / static_cast<double>(tasks)));
}

double TimeShares::usual_race(std::size_t tasks) const {
  if (!limited()) return std::numeric_limits<double>::infinity();
  return seconds_ * kRaceShare / static_cast<double>(tasks);
}

double TimeShares::left_for_last_word() const {
  if (!limited()) return std::max(kLastSeconds, kLastShare * elapsed());
  return std::max(left(), kLastShare * seconds_);
}

}  // namespace lathe::api
