#include "compiler/ops/resampled_axis.h"

#include <algorithm>
#include <cmath>

namespace lathe::ops {
namespace {

// One division alone is rounded, so that what is a whole number or a half in truth is one here.
double coordinate(const ResampledAxis& axis, Coordinates how, std::int64_t element) {
  const auto x = static_cast<double>(element);
  switch (how) {
    case Coordinates::kPytorchHalfPixel:
      if (axis.out == 1) return 0;
      [[fallthrough]];
    case Coordinates::kHalfPixel:
      return ((2 * x + 1) * axis.numerator - axis.denominator) / (2 * axis.denominator);
    case Coordinates::kAlignCorners:
      return axis.out == 1 || axis.length() <= 1
                 ? 0
                 : x * static_cast<double>(axis.in - 1) / (axis.length() - 1);
    case Coordinates::kAsymmetric: return x * axis.numerator / axis.denominator;
    case Coordinates::kHalfPixelSymmetric:
      return ((2 * x + 1 - static_cast<double>(axis.out)) * axis.numerator / axis.denominator +
              static_cast<double>(axis.in) - 1) /
             2;
    case Coordinates::kTfHalfPixelForNn:
      return (2 * x + 1) * axis.numerator / (2 * axis.denominator);
    case Coordinates::kTfCropAndResize: {
      const auto last = static_cast<double>(axis.in - 1);
      if (axis.out == 1 || axis.length() <= 1) return (axis.begin + axis.end) * last / 2;
      return axis.begin * last + x * (axis.end - axis.begin) * last / (axis.length() - 1);
    }
  }
  LATHE_CHECK(false, "no such coordinates");
}

double rounded(double x, Rounding how) {
  switch (how) {
    case Rounding::kFloor: return std::floor(x);
    case Rounding::kCeil: return std::ceil(x);
    case Rounding::kRoundPreferFloor: return std::ceil(x - 0.5);
    case Rounding::kRoundPreferCeil: return std::floor(x + 0.5);
  }
  LATHE_CHECK(false, "no such rounding");
}

// R. G. Keys: Cubic convolution interpolation for digital image processing, 1981.
double cubic(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

}  // namespace

ResampledAxis::Taps ResampledAxis::taps(const Resampling& how) const {
  const bool nearest = how.interpolation == Interpolation::kNearest,
             linear = how.interpolation == Interpolation::kLinear;
  const auto last = static_cast<double>(in - 1);
  Taps taps;
  taps.count = nearest ? 1 : linear ? 2 : 4;
  const auto count = static_cast<std::size_t>(taps.count), size = static_cast<std::size_t>(out);
  taps.places.resize(count * size);
  taps.weights.resize(count * size);
  for (std::size_t x = 0; x < size; ++x) {
    const double at = coordinate(*this, how.coordinates, static_cast<std::int64_t>(x));
    const bool outside = how.coordinates == Coordinates::kTfCropAndResize && (at < 0 || at > last);
    const double first = nearest  ? rounded(at, how.rounding)
                         : linear ? std::floor(at)
                                  : std::floor(at) - 1;
    double sum = 0;
    for (std::size_t tap = 0; tap < count; ++tap) {
      const double place = first + static_cast<double>(tap);
      double& weight = taps.weights[tap * size + x];
      weight = nearest  ? 1
               : linear ? 1 - std::abs(at - place)
                        : cubic(at - place, how.cubic_weight);
      if (how.exclude_outside && (place < 0 || place > last)) weight = 0;
      sum += weight;
      taps.places[tap * size + x] =
          outside ? -1 : static_cast<std::int64_t>(std::clamp(place, 0.0, last));
    }
    for (std::size_t tap = 0; how.exclude_outside && sum != 0 && tap < count; ++tap)
      taps.weights[tap * size + x] /= sum;
  }
  return taps;
}

}  // namespace lathe::ops
