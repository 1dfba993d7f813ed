// Elements at computed places.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compiler/interp/scalar.h"

namespace lathe::interp {
namespace {

constexpr double kMostPlaces = 64;  // that are compared

struct Span {
  std::int64_t value, low, high;
};

// What the index may be, cut just outside of the dimension.
Span span_of(const Value& index, std::int64_t size, bool padded) {
  const std::int64_t first = padded ? -1 : 0, last = padded ? size : size - 1;
  const auto cut = [&](double v) { return std::clamp(whole(v), first, last); };
  if (!(index.bound > 0)) return {cut(index.value), cut(index.value), cut(index.value)};
  return {cut(index.value), cut(std::ceil(index.value - index.bound)),
          cut(std::floor(index.value + index.bound))};
}

}  // namespace

Value looked_up(std::span<const Value> index, std::span<const std::int64_t> shape, bool padded,
                const std::function<Value(std::span<const std::int64_t>)>& read) {
  std::vector<Span> spans;
  std::vector<std::int64_t> at, first;
  double places = 1;
  for (std::size_t d = 0; d < index.size(); ++d) {
    spans.push_back(span_of(index[d], shape[d], padded));
    at.push_back(spans[d].value);
    first.push_back(spans[d].low);
    places *= static_cast<double>(spans[d].high - spans[d].low + 1);
  }
  Value out = read(at);
  if (places == 1) return out;
  if (places > kMostPlaces) return {out.value, std::numeric_limits<double>::infinity()};
  out.filler = false;
  for (at = first;;) {
    const Value other = read(at);
    const double apart = std::abs(other.value - out.value) + other.bound;
    const bool same = other.value == out.value && other.bound == 0;
    if (!same)
      out.bound =
          std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(out.bound, apart);
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] > spans[d - 1].high) at[d - 1] = spans[d - 1].low, --d;
    if (d == 0) return out;
  }
}

}  // namespace lathe::interp
