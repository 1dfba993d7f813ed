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
  const double between = at - static_cast<double>(low);
  // Infinity times zero is no number.
  if (between == 0 || values[low] == values[high]) return values[low];
  return std::lerp(values[low], values[high], between);
}

double error_of_median(double half_range, std::size_t n) {
  // sqrt(pi / 2) over the 0.674 standard deviations that half the range has
  constexpr double kOfHalfRange = 1.86;
  constexpr double kFewTell = 2;
  return kOfHalfRange * half_range / std::sqrt(std::max(1.0, static_cast<double>(n) - kFewTell));
}

double mann_whitney(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all);
  const double n = static_cast<double>(all.size()), na = static_cast<double>(a.size()),
               nb = static_cast<double>(b.size());
  // rank_sum: ranks of a; ties: sum of t^3 - t over groups of t equal values.
  double rank_sum = 0, ties = 0;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    while (end < all.size() && all[end] == all[begin]) ++end;
    const double t = static_cast<double>(end - begin);
    // The mean of the ranks begin + 1 ... end.
    const double rank = static_cast<double>(begin + end + 1) / 2;
    rank_sum += rank * static_cast<double>(std::ranges::count(a, all[begin]));
    ties += t * t * t - t;
    begin = end;
  }
  const double u = rank_sum - na * (na + 1) / 2;
  const double variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
  if (!(variance > 0)) return 1;  // all are equal, or a group is empty
  const double distance = std::max(0.0, std::abs(u - na * nb / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

}  // namespace lathe
