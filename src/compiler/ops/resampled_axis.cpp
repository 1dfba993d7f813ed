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
      return axis.out == 1
                 ? 0
                 : x * static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1);
    case Coordinates::kAsymmetric: return x * axis.numerator / axis.denominator;
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
  Taps out;
  out.count = nearest ? 1 : linear ? 2 : 4;
  for (std::int64_t tap = 0; tap < out.count; ++tap)
    for (std::int64_t x = 0; x < this->out; ++x) {
      const double at = coordinate(*this, how.coordinates, x);
      const double first = nearest  ? rounded(at, how.rounding)
                           : linear ? std::floor(at)
                                    : std::floor(at) - 1;
      const double place = first + static_cast<double>(tap);
      const double inside = std::clamp(place, 0.0, static_cast<double>(in - 1));
      out.places.push_back(static_cast<std::int64_t>(inside));
      out.weights.push_back(nearest  ? 1
                            : linear ? 1 - std::abs(at - place)
                                     : cubic(at - place, how.cubic_weight));
    }
  return out;
}

}  // namespace lathe::ops
