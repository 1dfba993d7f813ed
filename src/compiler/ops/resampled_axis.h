// Where the elements along an axis of another size come from.
#pragma once

#include "compiler/ops/values.h"

namespace lathe::ops {

// ONNX's coordinate_transformation_mode, nearest_mode and mode.
enum class Coordinates {
  kHalfPixel,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kHalfPixelSymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize
};
enum class Rounding { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
enum class Interpolation { kNearest, kLinear, kCubic };

struct Resampling {
  Interpolation interpolation;
  Coordinates coordinates;
  Rounding rounding;    // of kNearest
  double cubic_weight;  // the coefficient a of Keys' cubic convolution
  // Elements beyond the ends weigh nothing, and what is inside weighs 1 together. Otherwise the
  // ends go on.
  bool exclude_outside;
};

// An axis of `in` elements that becomes one of `out`. Element x lies at
// (x + shift) * numerator / denominator - shift, where shift is 1/2 or 0.
struct ResampledAxis {
  std::int64_t in, out;
  double numerator, denominator;
  // The part of the axis that kTfCropAndResize takes, of 1.
  double begin = 0, end = 1;

  // The output's size where it is not rounded down.
  double length() const { return static_cast<double>(in) * denominator / numerator; }
  // Whether elements lie elsewhere than at their own places.
  bool changes() const { return in != out || numerator != denominator || begin != 0 || end != 1; }

  // Tap s of element x is number s * out + x of both: its place, and its weight. All places of an
  // element that lies outside the axis are -1 where kTfCropAndResize is asked for.
  struct Taps {
    std::int64_t count = 1;
    std::vector<std::int64_t> places;
    std::vector<double> weights;
  };
  Taps taps(const Resampling& how) const;
};

}  // namespace lathe::ops
