#include "tuner/learn/spread.h"

#include <algorithm>
#include <cmath>

namespace lathe::learn {
namespace {

// The value below which a share of the others lies; `values` is not empty.
double quantile(std::vector<double> values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<std::size_t>(place)];
}

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double median_deviation(std::vector<double> values) {
  const double center = middle(values);
  for (double& value : values) value = std::abs(value - center);
  return middle(std::move(values));
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
