// Scores have no unit (a rank objective's may be negative, a regression's tiny), so temperatures
// and weights are in units of the scores' deviation.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace lathe::search {

struct Scale {
  double mean = 0;
  double deviation = 1;  // standard deviation of the finite scores; 1 where they are all equal
  // The score in units of the deviation, around 0. Hopeless scores (NaN, -inf) become a large
  // negative number.
  double of(double score) const {
    return std::isfinite(score) ? (score - mean) / deviation : score > 0 ? 1e6 : -1e6;
  }
};

inline Scale scale_of(std::span<const double> scores) {
  double sum = 0, squares = 0, largest = 0;
  int count = 0;
  for (const double score : scores) {
    if (!std::isfinite(score)) continue;
    sum += score;
    largest = std::max(largest, std::abs(score));
    ++count;
  }
  if (count == 0) return {};
  Scale scale;
  scale.mean = sum / count;
  for (const double score : scores)
    if (std::isfinite(score)) squares += (score - scale.mean) * (score - scale.mean);
  const double deviation = std::sqrt(squares / count);
  // Rounding noise of equal scores is no deviation.
  if (deviation > 1e-12 * largest) scale.deviation = deviation;
  return scale;
}

}  // namespace lathe::search
