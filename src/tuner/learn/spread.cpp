#include "tuner/learn/spread.h"

#include <cmath>

#include "base/statistics.h"

namespace lathe::learn {
namespace {

double median_deviation(std::vector<double> values) {
  const double center = quantile(values, 0.5);
  for (double& value : values) value = std::abs(value - center);
  return quantile(std::move(values), 0.5);
}

}  // namespace

double spread_of(const store::Record& record) {
  if (!record.ok() || !(record.seconds > 0)) return 0;
  std::vector<double> times;
  for (const store::Visit& visit : record.visits)
    if (!visit.seconds.empty()) times.push_back(quantile(visit.seconds, 0.25));
  if (times.size() == 1 && record.visits.size() == 1) times = record.visits[0].seconds;
  const double spread = times.empty() ? 0 : median_deviation(std::move(times)) / record.seconds;
  return std::isfinite(spread) ? spread : 0;
}

}  // namespace lathe::learn
