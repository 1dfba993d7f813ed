#include <cmath>

#include "base/result.h"
#include "compiler/cook_toom/matrices.h"

namespace lathe::cook_toom {

std::vector<Rational> best_points(int outputs, int taps) {
  static const std::vector<Rational> order = {0,  1,      -1,      {1, 2}, {-1, 2}, 2,
                                              -2, {1, 4}, {-1, 4}, 4,      -4,      {3, 4}};
  const auto count = static_cast<std::size_t>(outputs + taps - 2);
  LATHE_CHECK(count <= order.size(), "there are no points for F({}, {})", outputs, taps);
  return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)};
}

double direct_error(std::int64_t terms) {
  return 1.8e-6 * std::pow(static_cast<double>(terms) / 128, 0.2);
}

double error_growth(int outputs, int taps) {
  static constexpr double kGrowth[] = {1, 1, 1, 1.3, 1.3, 2.4, 2.8, 3, 3.3, 13, 25, 30, 40, 50};
  // F(6, 2) takes 2 without its opposite, to the fifth power.
  if (outputs == 6 && taps == 2) return 4.5;
  return kGrowth[outputs + taps - 1];
}

}  // namespace lathe::cook_toom
