#include "compiler/cook_toom/matrices.h"

#include <algorithm>
#include <numeric>

#include "base/result.h"

namespace lathe::cook_toom {
namespace {

// Coefficients of the product of (x - point) over all points but number `left_out`, from that of
// x^0 up. -1: over all.
std::vector<Rational> product_of_factors(const std::vector<Rational>& points, int left_out) {
  std::vector<Rational> product = {1};
  for (int q = 0; q < static_cast<int>(points.size()); ++q) {
    if (q == left_out) continue;
    std::vector<Rational> next(product.size() + 1);
    for (std::size_t i = 0; i < product.size(); ++i) {
      next[i + 1] = next[i + 1] + product[i];
      next[i] = next[i] - product[i] * points[static_cast<std::size_t>(q)];
    }
    product = std::move(next);
  }
  return product;
}

Rational value_at(const std::vector<Rational>& polynomial, const Rational& x) {
  Rational value;
  for (std::size_t i = polynomial.size(); i-- > 0;) value = value * x + polynomial[i];
  return value;
}

}  // namespace

Matrices matrices(int outputs, int taps, const std::vector<Rational>& points) {
  const int count = outputs + taps - 1, finite = count - 1;
  LATHE_CHECK(outputs >= 1 && taps >= 1 && count <= kMostPositions, "F({}, {}) is out of range",
              outputs, taps);
  LATHE_CHECK(static_cast<int>(points.size()) == finite, "F({}, {}) has {} points", outputs, taps,
              points.size());
  Matrices out;
  out.output.assign(static_cast<std::size_t>(outputs), {});
  for (int p = 0; p < count; ++p) {
    const bool infinite = p == finite;
    std::vector<Rational> input = product_of_factors(points, infinite ? -1 : p);
    const Rational at_point = infinite ? 1 : value_at(input, points[static_cast<std::size_t>(p)]);
    input.resize(static_cast<std::size_t>(count));
    std::vector<Rational> filter;
    Rational power = 1;  // of the point
    for (int j = 0; j < taps; ++j) {
      const Rational value = infinite ? Rational(j == taps - 1 ? 1 : 0) : power;
      filter.push_back(value / at_point);
      if (!infinite) power = power * points[static_cast<std::size_t>(p)];
    }
    power = 1;
    for (int i = 0; i < outputs; ++i) {
      out.output[static_cast<std::size_t>(i)].push_back(
          infinite ? Rational(i == outputs - 1 ? 1 : 0) : power);
      if (!infinite) power = power * points[static_cast<std::size_t>(p)];
    }
    out.input.push_back(std::move(input));
    out.filter.push_back(std::move(filter));
  }
  return out;
}

Residues residues_of(std::int64_t taps, std::int64_t stride) {
  const std::int64_t count = std::min(taps, stride);
  return {count, (taps + stride - 1) / stride, (taps - count) / stride + 1};
}

Strands strands_of(std::int64_t stride, std::int64_t dilation) {
  const std::int64_t common = std::gcd(stride, dilation);
  return {dilation / common, stride / common};
}

Matrices matrices(int outputs, int taps) {
  return matrices(outputs, taps, best_points(outputs, taps));
}

}  // namespace lathe::cook_toom
