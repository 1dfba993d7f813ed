#include "tuner/measure/statistics.h"

#include <algorithm>

#include "base/statistics.h"

namespace lathe::measure {

bool SentinelGate::disturbed(double seconds) {
  const double before = normal();
  recent_.push_back(seconds);
  if (recent_.size() > kMemory) recent_.pop_front();
  if (recent_.size() >= kFewest && (fastest_ == 0 || normal() < fastest_)) fastest_ = normal();
  return before > 0 && seconds > before * (1 + tolerance_);
}

double SentinelGate::normal() const {
  return recent_.empty() ? 0 : quantile({recent_.begin(), recent_.end()}, 0.2);
}

double estimate(std::span<const Visit> visits, double normal, double tolerance) {
  std::vector<double> quiet, counted, all;
  for (const Visit& visit : visits) {
    if (visit.seconds.empty() && visit.disturbed.empty()) continue;
    all.push_back(quantile(visit.seconds.empty() ? visit.disturbed : visit.seconds, 0.25));
    if (visit.seconds.empty()) continue;
    counted.push_back(all.back());
    if (normal <= 0 || visit.sentinel_seconds <= normal * (1 + tolerance))
      quiet.push_back(all.back());
  }
  return quantile(!quiet.empty() ? quiet : !counted.empty() ? counted : all, 0.5);
}

bool agree(std::span<const Visit> visits, double normal, double tolerance) {
  constexpr double kSame = 0.01;
  std::vector<double> quiet;
  for (const Visit& visit : visits)
    if (!visit.seconds.empty() && visit.sentinel_seconds <= normal * (1 + tolerance))
      quiet.push_back(quantile(visit.seconds, 0.25));
  if (quiet.size() < 2) return false;
  const auto [least, most] = std::ranges::minmax(quiet);
  return most <= least * (1 + kSame);
}

double share_of(const Speed& now, const Speed& known) {
  double share = 1;
  if (now.peak_flops > 0 && known.peak_flops > 0)
    share = std::min(share, now.peak_flops / known.peak_flops);
  if (now.sentinel_seconds > 0 && known.sentinel_seconds > 0)
    share = std::min(share, known.sentinel_seconds / now.sentinel_seconds);
  return share;
}

}  // namespace lathe::measure
