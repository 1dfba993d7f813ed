#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::numeric_limits<double>::infinity();
  std::ranges::sort(values);
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return std::lerp(values[low], values[high], at - static_cast<double>(low));
}

}  // namespace lathe
