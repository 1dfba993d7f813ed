// Images that are read between their elements, against the formulas of PyTorch's grid_sample.
#include <cmath>

#include <fmt/ranges.h>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

struct Sampling {
  std::string mode, around;
  bool corners;
};

// A coordinate beyond the ends of an axis, mirrored at `low` and `high` until it is inside.
double mirrored(double x, double low, double high) {
  if (low == high) return low;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

double low_of(const Sampling& how) { return how.corners ? 0 : -0.5; }

// The place of a coordinate from -1 to 1 on an axis. What is no number counts as -1.
double place_on(double coordinate, std::int64_t size, const Sampling& how) {
  if (std::isnan(coordinate)) return place_on(-1, size, how);
  const auto n = static_cast<double>(size);
  double x = how.corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  if (how.mode == "nearest") x = std::nearbyint(x);
  const double low = low_of(how), high = n - 1 - low;
  if (x >= low && x <= high) return x;
  if (how.around == "border" && how.mode == "cubic") return x;
  if (how.around == "border") return std::min(std::max(x, 0.0), n - 1);
  return how.around == "reflection" ? mirrored(x, low, high) : x;
}

std::vector<std::pair<std::int64_t, double>> taps_of_place(double x, const Sampling& how) {
  const double first = std::floor(x), f = x - first;
  const auto at = static_cast<std::int64_t>(first);
  if (how.mode == "nearest") return {{at, 1}};
  if (how.mode == "linear") return {{at, 1 - f}, {at + 1, f}};
  const auto near = [](double d) { return ((-0.75 + 2) * d - (-0.75 + 3)) * d * d + 1; };
  const auto far = [](double d) { return -0.75 * (((d - 5) * d + 8) * d - 4); };
  return {{at - 1, far(f + 1)}, {at, near(f)}, {at + 1, near(1 - f)}, {at + 2, far(2 - f)}};
}

// The element of the image at places with weights, of all axes from `axis` on.
double sum_at(const interp::Tensor& image, Index& index, const std::vector<double>& places,
              std::size_t axis, const Sampling& how) {
  if (axis == places.size()) return at(image, index);
  const std::int64_t size = image.shape[2 + axis];
  double sum = 0;
  for (auto [tap, weight] : taps_of_place(places[axis], how)) {
    const bool outside = tap < 0 || tap >= size;
    if (outside && how.around == "zeros") continue;
    if (outside && how.around == "border") tap = std::min(std::max<std::int64_t>(tap, 0), size - 1);
    if (outside && how.around == "reflection") {
      const double low = low_of(how), high = static_cast<double>(size) - 1 - low;
      tap = std::llround(mirrored(static_cast<double>(tap), low, high));
    }
    index[2 + axis] = tap;
    sum += weight * sum_at(image, index, places, axis + 1, how);
  }
  return sum;
}

void check_sampled(const Index& input, const Index& grid, const Sampling& how) {
  const Arguments arguments = {{"input", list(input)},
                               {"grid", list(grid)},
                               {"mode", how.mode},
                               {"around", how.around},
                               {"align-corners", how.corners ? "true" : "false"},
                               {"dtype", "f64"}};
  SCOPED_TRACE(fmt::format("{}", arguments));
  const te::Workload workload = built("grid_sample", arguments);
  Rng rng(91);
  auto inputs = interp::random_inputs(workload, rng);
  for (double& coordinate : inputs[1].values) coordinate *= 2;  // far outside, too
  inputs[1].values[0] = std::nan("");
  const Evaluation r = evaluated(workload, std::move(inputs));
  const std::size_t rank = input.size() - 2;
  Index shape = {input[0], input[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  expect_output(
      r, shape,
      [&](const Index& y) {
        Index of_grid = {y[0]};
        of_grid.insert(of_grid.end(), y.begin() + 2, y.end());
        of_grid.push_back(0);
        std::vector<double> places;
        for (std::size_t a = 0; a < rank; ++a) {
          of_grid.back() = static_cast<std::int64_t>(rank - 1 - a);
          places.push_back(place_on(at(r.inputs[1], of_grid), input[2 + a], how));
        }
        Index index(input.size());
        index[0] = y[0];
        index[1] = y[1];
        return sum_at(r.inputs[0], index, places, 0, how);
      },
      1e-9);
}

TEST(GridSample, BetweenElementsAndBeyondTheEnds) {
  for (const char* around : {"zeros", "border", "reflection"})
    for (const bool corners : {false, true}) {
      for (const char* mode : {"linear", "nearest", "cubic"}) {
        check_sampled({1, 1, 5, 7}, {1, 3, 4, 2}, {mode, around, corners});
        check_sampled({2, 3, 3, 2}, {2, 1, 5, 2}, {mode, around, corners});
        check_sampled({1, 2, 1, 4}, {1, 7, 1, 2}, {mode, around, corners});
        check_sampled({1, 1, 1, 1}, {1, 3, 3, 2}, {mode, around, corners});
      }
      check_sampled({1, 2, 3, 4, 5}, {1, 2, 3, 2, 3}, {"linear", around, corners});
      check_sampled({1, 2, 1, 4, 2}, {1, 1, 3, 2, 3}, {"nearest", around, corners});
    }
}

}  // namespace
}  // namespace lathe::ops
