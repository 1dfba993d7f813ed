#include "tuner/measure/statistics.h"

#include "base/statistics.h"

namespace lathe::measure {

bool SentinelGate::disturbed(double seconds) {
  const double before = normal();
  recent_.push_back(seconds);
  if (recent_.size() > kMemory) recent_.pop_front();
  return before > 0 && seconds > before * (1 + tolerance_);
}

double SentinelGate::normal() const {
  return recent_.empty() ? 0 : quantile({recent_.begin(), recent_.end()}, 0.2);
}

double estimate(std::span<const Visit> visits, double normal, double tolerance) {
  std::vector<double> quiet, all;
  for (const Visit& visit : visits) {
    if (visit.seconds.empty()) continue;
    all.push_back(quantile(visit.seconds, 0.25));
    if (normal <= 0 || visit.sentinel_seconds <= normal * (1 + tolerance)) quiet.push_back(all.back());
  }
  return quantile(quiet.empty() ? all : quiet, 0.5);
}

}  // namespace lathe::measure
