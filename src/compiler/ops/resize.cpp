#include "compiler/ops/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/split.h"
#include "compiler/ops/padding.h"
#include "compiler/ops/resampled_axis.h"
#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

constexpr std::array<std::string_view, 3> kModes = {"nearest", "linear", "cubic"};
constexpr std::array<std::string_view, 7> kCoordinates = {
    "half-pixel",           "pytorch-half-pixel",   "align-corners",     "asymmetric",
    "half-pixel-symmetric", "tf-half-pixel-for-nn", "tf-crop-and-resize"};
constexpr std::array<std::string_view, 4> kRoundings = {"round-prefer-floor", "round-prefer-ceil",
                                                        "floor", "ceil"};
// What a literal tensor may have.
constexpr std::int64_t kMostTaps = 1 << 16;

// Sets what part of each axis --crop takes: all the beginnings and then all the ends.
Status set_crop(const Values& values, Coordinates how, std::vector<ResampledAxis>& axes) {
  const std::string& crop = values.text("crop");
  if ((how == Coordinates::kTfCropAndResize) == crop.empty())
    return Values::error("crop",
                         "--coordinates tf-crop-and-resize needs it, and nothing else does");
  if (crop.empty()) return {};
  const std::vector<std::string> parts = split(crop, ',');
  if (parts.size() != 2 * axes.size())
    return Values::error("crop", "{} values are needed, the beginnings and the ends; {} are given",
                         2 * axes.size(), parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto part = parse_real(parts[p]);
    if (!part || std::abs(*part) > 1e6)
      return Values::error("crop", "'{}' is no part of an axis, as 0.25 is", parts[p]);
    ResampledAxis& axis = axes[p % axes.size()];
    (p < axes.size() ? axis.begin : axis.end) = *part;
  }
  return {};
}

// The axes by --size or by --scales.
Result<std::vector<ResampledAxis>> axes_of(const Values& values,
                                           const std::vector<std::int64_t>& input) {
  const std::string_view letters = letters_of(input.size() - 2);
  const std::string& scales = values.text("scales");
  if (values.has("size") != scales.empty())
    return Values::error("size", "either the size or --scales is needed, and not both");
  std::vector<ResampledAxis> axes;
  if (scales.empty()) {
    const auto size = LATHE_TRY(values.each("size", letters));
    for (std::size_t a = 0; a < letters.size(); ++a) {
      const std::int64_t in = input[a + 2];
      axes.push_back({in, size[a], static_cast<double>(in), static_cast<double>(size[a])});
    }
    return axes;
  }
  const std::vector<std::string> parts = split(scales, ',');
  if (parts.size() != 1 && parts.size() != letters.size())
    return Values::error("scales", "one value or {} ({}) are needed, {} are given", letters.size(),
                         fmt::join(letters, ","), parts.size());
  for (std::size_t a = 0; a < letters.size(); ++a) {
    const std::string& part = parts[parts.size() == 1 ? 0 : a];
    const auto scale = parse_real(part);
    const std::int64_t in = input[a + 2];
    const double out = scale ? std::floor(static_cast<double>(in) * *scale) : 0;
    if (!scale || *scale <= 0 || out < 1 || out > static_cast<double>(kMostTaps))
      return Values::error("scales", "'{}' makes no 1 to {} elements of {} along {}", part,
                           kMostTaps, in, letters[a]);
    axes.push_back({in, static_cast<std::int64_t>(out), 1, *scale});
  }
  return axes;
}

// The place of an element where it follows from the element's own by one division or product, which
// vectors read faster than a table; else empty. `letter`: of the axis.
std::string place_of(const std::vector<std::int64_t>& places, char letter) {
  const auto is = [&](auto place) {
    for (std::size_t x = 0; x < places.size(); ++x)
      if (places[x] != place(static_cast<std::int64_t>(x))) return false;
    return true;
  };
  const auto by = static_cast<std::int64_t>(std::ranges::count(places, 0));
  if (by > 1 && is([&](std::int64_t x) { return x / by; })) return fmt::format("{}/{}", letter, by);
  const std::int64_t step = places.size() > 1 ? places[1] - places[0] : 1;
  if (places[0] < 0 || step < 1 || !is([&](std::int64_t x) { return places[0] + step * x; }))
    return "";
  return fmt::format("{}*{} + {}", step, letter, places[0]);
}

class Resize {
 public:
  // `outside`: the text of what elements outside the image are.
  Resize(std::vector<std::int64_t> input, std::vector<ResampledAxis> axes, Dtype dtype,
         std::string outside)
      : input_(std::move(input)),
        axes_(std::move(axes)),
        dtype_(dtype),
        outside_(std::move(outside)),
        places_(axes_.size()) {}

  // The orders in which axes go one after the other, or all at once where `order` is one step of
  // all; the one that takes the fewest products.
  std::vector<std::vector<std::size_t>> best_order(std::int64_t taps) const {
    std::vector<std::size_t> changed;
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if (axes_[a].changes()) changed.push_back(a);
    std::vector<std::vector<std::size_t>> best = {changed};
    if (taps == 1 || changed.size() < 2) return best;
    double least = work(best, taps);
    do {
      std::vector<std::vector<std::size_t>> order;
      for (const std::size_t a : changed) order.push_back({a});
      if (const double needed = work(order, taps); needed < least) {
        least = needed;
        best = order;
      }
    } while (std::ranges::next_permutation(changed).found);
    return best;
  }

  Result<std::vector<Algorithm>> written(const Resampling& how) {
    std::string text = typed(shaped("X", input_), dtype_) + "\n";
    std::vector<std::int64_t> sizes = input_;
    for (const ResampledAxis& axis : axes_)
      sizes[static_cast<std::size_t>(&axis - axes_.data()) + 2] = axis.out;
    text += typed(shaped("output Y", sizes), dtype_) + "\n";
    const bool nearest = how.interpolation == Interpolation::kNearest;
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if (axes_[a].changes()) LATHE_TRY_STATUS(add_tables(text, a, how));
    const auto order = best_order(nearest                                       ? 1
                                  : how.interpolation == Interpolation::kLinear ? 2
                                                                                : 4);
    std::string from = "X";
    sizes = input_;
    for (std::size_t step = 0; step < order.size(); ++step) {
      for (const std::size_t a : order[step]) sizes[a + 2] = axes_[a].out;
      const std::string to = step + 1 == order.size() ? "Y" : fmt::format("T{}", step);
      text += pass(from, to, sizes, order[step], nearest);
      from = to;
    }
    return direct(parsed("resize", text));
  }

 private:
  double work(const std::vector<std::vector<std::size_t>>& order, std::int64_t taps) const {
    std::vector<double> sizes(axes_.size());
    for (std::size_t a = 0; a < axes_.size(); ++a) sizes[a] = static_cast<double>(axes_[a].in);
    double sum = 0;
    for (const auto& step : order) {
      double products = std::pow(static_cast<double>(taps), static_cast<double>(step.size()));
      for (const std::size_t a : step) sizes[a] = static_cast<double>(axes_[a].out);
      // What is written counts as one more, and vectors of the last axis read one by one.
      products = step.empty() || step.back() + 1 == axes_.size() ? 2 * products : products;
      sum += std::accumulate(sizes.begin(), sizes.end(), products + 1, std::multiplies<>());
    }
    return sum;
  }

  Status add_tables(std::string& text, std::size_t a, const Resampling& how) {
    const ResampledAxis& axis = axes_[a];
    const char letter = letters_of(axes_.size())[a];
    const std::int64_t most = kMostTaps / (how.interpolation == Interpolation::kNearest  ? 1
                                           : how.interpolation == Interpolation::kLinear ? 2
                                                                                         : 4);
    if (axis.out > most)
      return Values::error("size", "{} elements along {} are too many for tables, {} are possible",
                           axis.out, letter, most);
    const ResampledAxis::Taps taps = axis.taps(how);
    if (how.interpolation == Interpolation::kNearest) places_[a] = place_of(taps.places, letter);
    if (!places_[a].empty()) return {};
    text += fmt::format("P{}: i32[{},{}] = {{{}}}\n", letter, taps.count, axis.out,
                        fmt::join(taps.places, ","));
    if (how.interpolation != Interpolation::kNearest)
      text += fmt::format("W{}: {}[{},{}] = {{{}}}\n", letter,
                          name_of(te::is_narrow(dtype_) ? te::accumulator_of(dtype_) : dtype_),
                          taps.count, axis.out, fmt::join(taps.weights, ","));
    return {};
  }

  std::string pass(const std::string& from, const std::string& to,
                   const std::vector<std::int64_t>& sizes, const std::vector<std::size_t>& step,
                   bool nearest) const {
    const std::string_view letters = letters_of(axes_.size()), names = taps_of(axes_.size());
    std::vector<std::string> iters = {fmt::format("n:{}", sizes[0]), fmt::format("c:{}", sizes[1])},
                             index = {"n", "c"}, over;
    std::string weights;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const char letter = letters[a], tap = names[a];
      iters.push_back(fmt::format("{}:{}", letter, sizes[a + 2]));
      const bool resized = std::ranges::find(step, a) != step.end();
      index.push_back(!resized              ? std::string(1, letter)
                      : !places_[a].empty() ? places_[a]
                      : nearest             ? fmt::format("P{0}[0,{0}]", letter)
                                            : fmt::format("P{0}[{1},{0}]", letter, tap));
      if (!resized || nearest) continue;
      over.push_back(std::string(1, tap));
      weights += fmt::format(" * W{0}[{1},{0}]", letter, tap);
    }
    std::string read = fmt::format("{}[{}{}]", from, fmt::join(index, ","), outside_);
    if (from == "X" && te::is_narrow(dtype_) && !over.empty())
      read = fmt::format("{}({})", name_of(te::accumulator_of(dtype_)), read);
    std::string value = read + weights;
    if (!over.empty()) value = fmt::format("sum({}) {}", fmt::join(over, ","), value);
    if (!over.empty() && to == "Y" && te::is_narrow(dtype_))
      value = fmt::format("{}({})", name_of(dtype_), value);
    return fmt::format("{}[{}] = {}\n", to, fmt::join(iters, ","), value);
  }

  std::vector<std::int64_t> input_;
  std::vector<ResampledAxis> axes_;
  Dtype dtype_;
  std::string outside_;
  std::vector<std::string> places_;  // by axis, where they need no table
};

Result<std::vector<Algorithm>> build_resize(const Values& values) {
  const auto& input = values.numbers("input");
  if (input.size() < 3 || input.size() > 5)
    return Values::error("input",
                         "3 to 5 dimensions are needed (n,c and those of an image), "
                         "[{}] has {}",
                         fmt::join(input, ","), input.size());
  const Resampling how = {LATHE_TRY(one_of<Interpolation>(values, "mode", kModes)),
                          LATHE_TRY(one_of<Coordinates>(values, "coordinates", kCoordinates)),
                          LATHE_TRY(one_of<Rounding>(values, "rounding", kRoundings)),
                          values.real("cubic-weight"), values.flag("exclude-outside")};
  const bool nearest = how.interpolation == Interpolation::kNearest;
  const Dtype dtype = LATHE_TRY(nearest ? dtype_of(values) : float_of(values));
  std::vector<ResampledAxis> axes = LATHE_TRY(axes_of(values, input));
  LATHE_TRY_STATUS(set_crop(values, how.coordinates, axes));
  const std::string outside = how.coordinates == Coordinates::kTfCropAndResize
                                  ? " else " + LATHE_TRY(number_text(values, "outside", dtype))
                                  : "";
  return Resize(input, std::move(axes), dtype, outside).written(how);
}

}  // namespace

Operator resize() {
  return {"resize",
          "images X[n,c,...] of another size",
          {{Kind::kDims, "input", "", "shape of the input: n,c and one to three of an image"},
           {Kind::kInts, "size", "scaled", "size of the image: one value, or one for each axis"},
           {Kind::kText, "scales", "",
            "instead of --size: how many times as large, as 2 or 0.5,1.25; sizes are rounded down"},
           {Kind::kText, "mode", "linear", "nearest, linear or cubic"},
           {Kind::kText, "coordinates", "half-pixel",
            fmt::format("where elements lie: {}; as in ONNX", fmt::join(kCoordinates, ", "))},
           {Kind::kText, "rounding", "round-prefer-floor",
            "of nearest: round-prefer-floor, round-prefer-ceil, floor or ceil"},
           {Kind::kReal, "cubic-weight", "-0.75", "the coefficient of cubic"},
           {Kind::kFlag, "exclude-outside", "false",
            "places outside the image weigh nothing; else its ends go on"},
           {Kind::kText, "crop", "",
            "of tf-crop-and-resize: where the part of each axis begins, and then where each ends, "
            "as 0.25,0,0.75,1"},
           {Kind::kText, "outside", "0", "of tf-crop-and-resize: elements outside the image"},
           dtype_parameter()},
          build_resize};
}

}  // namespace lathe::ops
