#include "runtime/runner/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dtype.h"

namespace lathe::runner {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double difference(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const double d = std::abs(got - want);
  return std::isnan(d) ? kInfinity : d;
}

double size_that_counts(double want, double bound) {
  const double size = std::abs(want);
  return bound < kInfinity && size < kInfinity ? size : 0;
}

struct Worst {
  // The largest difference over its bound; -infinity where nothing is known of any element.
  double excess = -kInfinity;
  std::int64_t index = 0;
  double largest_difference = 0, largest_want = 0;
  std::int64_t largest_index = 0;
};

template <class Value>
Worst scan(const Comparison& c, const Value& value) {
  Worst worst;
  for (std::size_t i = 0; i < c.want.size(); ++i) {
    if (!(c.bound[i] < kInfinity)) continue;
    const double want = c.want[i];
    const double d = difference(value(i), want);
    if (d - c.bound[i] > worst.excess)
      worst.excess = d - c.bound[i], worst.index = static_cast<std::int64_t>(i);
    if (d > worst.largest_difference)
      worst.largest_difference = d, worst.largest_index = static_cast<std::int64_t>(i);
    worst.largest_want = std::max(worst.largest_want, size_that_counts(want, c.bound[i]));
  }
  return worst;
}

Worst scan(const Comparison& c) {
  if (c.dtype == Dtype::kF32)
    return scan(
        c, [&](std::size_t i) { return static_cast<double>(static_cast<const float*>(c.got)[i]); });
  const auto* bytes = static_cast<const std::byte*>(c.got);
  const auto step = static_cast<std::size_t>(size_of(c.dtype));
  return scan(c, [&](std::size_t i) { return load_element(c.dtype, bytes + i * step); });
}

}  // namespace

double largest_of(std::span<const double> want, std::span<const double> bound) {
  double largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    largest = std::max(largest, size_that_counts(want[i], bound[i]));
  return largest;
}

void compare(std::span<const Comparison> outputs, double max_error, Loaded& result) {
  result.max_error = 0;
  result.wrong = false;
  double worst_excess = -kInfinity;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Comparison& c = outputs[o];
    if (c.want.empty()) continue;
    const Worst worst = scan(c);
    const double error =
        worst.largest_difference == 0 ? 0 : worst.largest_difference / worst.largest_want;
    const bool too_far = error > max_error, beyond = worst.excess > 0;
    result.max_error = std::max(result.max_error, error);
    result.wrong = result.wrong || too_far || beyond;
    if (worst.excess <= worst_excess && !(too_far && !beyond)) continue;
    worst_excess = worst.excess;
    result.output = static_cast<int>(o);
    result.index = beyond ? worst.index : worst.largest_index;
    result.got = load_element(
        c.dtype, static_cast<const std::byte*>(c.got) + result.index * size_of(c.dtype));
    result.want = c.want[result.index];
    result.bound = c.bound[result.index];
  }
}

}  // namespace lathe::runner
