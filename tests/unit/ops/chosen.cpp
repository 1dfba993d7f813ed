// The largest and smallest elements of rows, against a stable sort.
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/ranges.h>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

constexpr double kBeyondAll = std::numeric_limits<double>::infinity();

// The places of the k best of a row, the first of equal ones first; NaN counts as infinity.
std::vector<std::int64_t> best_of(std::vector<double> row, std::size_t k, bool smallest) {
  for (double& x : row) x = (std::isnan(x) ? kBeyondAll : x) * (smallest ? -1 : 1);
  std::vector<std::int64_t> places(row.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, [&](std::int64_t a, std::int64_t b) {
    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
  });
  places.resize(k);
  return places;
}

void check_top_k(const Index& input, std::int64_t axis, std::int64_t k, bool smallest,
                 const char* dtype) {
  const Arguments arguments = {{"input", list(input)},
                               {"axis", std::to_string(axis)},
                               {"k", std::to_string(k)},
                               {"smallest", smallest ? "true" : "false"},
                               {"dtype", dtype}};
  SCOPED_TRACE(fmt::format("{}", arguments));
  const te::Workload workload = built("top_k", arguments);
  Rng rng(81);
  auto inputs = interp::random_inputs(workload, rng);
  // Many are alike.
  for (double& x : inputs[0].values) {
    x = std::round(x * (is_float(inputs[0].dtype) ? 3 : 1));
    if (is_float(inputs[0].dtype) && rng.chance(0.1))
      x = rng.chance(0.5) ? -kBeyondAll : kBeyondAll;
    if (is_float(inputs[0].dtype) && rng.chance(0.1)) x = std::nan("");
  }
  if (inputs[0].dtype == Dtype::kI32) inputs[0].values.front() = -2147483648.0;
  const auto results = interp::evaluate(workload, inputs);
  ASSERT_TRUE(results) << results.error().text();
  const auto d = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(input) : axis);
  Index shape = input, rows = input;
  shape[d] = k;
  rows[d] = 1;
  ASSERT_EQ((*results)[0].shape, shape);
  ASSERT_EQ((*results)[1].shape, shape);
  each_index(rows, [&](Index index) {
    std::vector<double> row;
    for (index[d] = 0; index[d] < input[d]; ++index[d]) row.push_back(at(inputs[0], index));
    const auto want = best_of(row, static_cast<std::size_t>(k), smallest);
    for (index[d] = 0; index[d] < k; ++index[d]) {
      const std::int64_t place = want[static_cast<std::size_t>(index[d])];
      const double value = at((*results)[0], index), right = row[static_cast<std::size_t>(place)];
      EXPECT_EQ(at((*results)[1], index), static_cast<double>(place)) << list(index);
      EXPECT_TRUE(value == right || (std::isnan(value) && std::isnan(right))) << list(index);
    }
  });
}

TEST(TopK, TheBestInOrderAndOfEqualOnesTheFirst) {
  for (const bool smallest : {false, true}) {
    for (const char* dtype : {"f32", "f16", "f64", "i32", "u8", "i64", "u32"}) {
      check_top_k({13}, 0, 5, smallest, dtype);
      check_top_k({3, 31}, -1, 4, smallest, dtype);
    }
    check_top_k({1}, 0, 1, smallest, "f32");
    check_top_k({17}, 0, 17, smallest, "f32");
    check_top_k({2, 300}, 1, 7, smallest, "f32");
    check_top_k({7, 3, 2}, 0, 7, smallest, "f32");
    check_top_k({2, 5, 3}, 1, 1, smallest, "f32");
    check_top_k({4, 1, 3}, -2, 1, smallest, "i8");
  }
}

}  // namespace
}  // namespace lathe::ops
