// Images in another size. Where each element of the output looks, and with what weights, follows
// from sizes alone: it stands in the expression as tables, an axis a stage.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

struct Settings {
  std::string mode, coordinates, rounding;
  double cubic = -0.75;
  bool exclude_outside = false;
};

struct Axis {
  std::int64_t in = 0, out = 0;
  double scale = 1;
};

// The place in the input, as a real number, of an element of the output.
double source(const Axis& axis, std::int64_t at, const std::string& coordinates) {
  // As ONNX's tests have it, the output's length is not rounded there.
  const auto x = static_cast<double>(at), in = static_cast<double>(axis.in), out = in * axis.scale;
  if (coordinates == "asymmetric") return x / axis.scale;
  if (coordinates == "align_corners")
    return axis.out == 1 || out <= 1 ? 0 : x * (in - 1) / (out - 1);
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (coordinates == "pytorch_half_pixel" && axis.out == 1) return 0;
  return (x + 0.5) / axis.scale - 0.5;
}

std::int64_t nearest(double x, const std::string& rounding) {
  if (rounding == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (rounding == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  if (rounding == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5));
  return static_cast<std::int64_t>(std::ceil(x - 0.5));
}

// Keys' kernel at 1 + f, f, 1 - f and 2 - f.
std::vector<double> cubic_weights(double f, double a) {
  const auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + f), near(f), near(1 - f), far(2 - f)};
}

struct Taps {
  std::int64_t each = 1;
  std::vector<std::int64_t> places;  // by element of the output, then by tap
  std::vector<double> weights;
  bool whole = false;  // each element is that at the same place
};

Taps taps_of(const Axis& axis, const Settings& settings) {
  Taps taps;
  taps.each = settings.mode == "nearest" ? 1 : settings.mode == "linear" ? 2 : 4;
  for (std::int64_t at = 0; at < axis.out; ++at) {
    const double x = source(axis, at, settings.coordinates), low = std::floor(x), f = x - low;
    std::int64_t first = static_cast<std::int64_t>(low);
    std::vector<double> weights{1 - f, f};
    if (taps.each == 1) {
      first = nearest(x, settings.rounding);
      weights = {1};
    } else if (taps.each == 4) {
      weights = cubic_weights(f, settings.cubic);
      --first;
    }
    double sum = 0;
    for (std::int64_t t = 0; t < taps.each; ++t) {
      double& weight = weights[static_cast<std::size_t>(t)];
      if (settings.exclude_outside && (first + t < 0 || first + t >= axis.in)) weight = 0;
      sum += weight;
    }
    for (std::int64_t t = 0; t < taps.each; ++t) {
      taps.places.push_back(std::clamp<std::int64_t>(first + t, 0, axis.in - 1));
      taps.weights.push_back(weights[static_cast<std::size_t>(t)] /
                             (settings.exclude_outside && sum != 0 ? sum : 1));
    }
  }
  taps.whole = axis.in == axis.out && settings.mode == "nearest";
  for (std::size_t at = 0; taps.whole && at < taps.places.size(); ++at)
    taps.whole = taps.places[at] == static_cast<std::int64_t>(at);
  return taps;
}

std::string numbers(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(number_text(value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// The index of the element that is looked up along an axis: i / n where that is all, else a table.
std::string place(const Taps& taps, const Axis& axis, std::size_t d, std::string& tables) {
  if (taps.each == 1 && axis.out % axis.in == 0) {
    const std::int64_t by = axis.out / axis.in;
    bool divided = true;
    for (std::size_t at = 0; at < taps.places.size(); ++at)
      divided &= taps.places[at] == static_cast<std::int64_t>(at) / by;
    if (divided) return fmt::format("i{} / {}", d, by);
  }
  tables += fmt::format("I{}: i64[{},{}] = {{{}}}\n", d, axis.out, taps.each,
                        fmt::join(taps.places, ", "));
  return fmt::format("I{0}[i{0},{1}]", d, taps.each == 1 ? "0" : "t");
}

Made resized(Site& site, const std::vector<Axis>& axes, const Settings& settings) {
  const std::string type(name_of(site.dtype(0)));
  const bool narrow = site.dtype(0) == Dtype::kF16 || site.dtype(0) == Dtype::kBF16;
  if (settings.mode != "nearest" && (narrow || !is_float(site.dtype(0))))
    return site.unsupported("it interpolates {}", type);
  std::string tables, stages, from = "X";
  Shape shape = site.shape(0);
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].out > 1 << 14)
      return site.unsupported("it makes {} elements along an axis", axes[d].out);
    const Taps taps = taps_of(axes[d], settings);
    if (taps.whole || (axes[d].in == axes[d].out && axes[d].scale == 1)) continue;
    std::vector<std::string> index;
    for (std::size_t e = 0; e < axes.size(); ++e) index.push_back(fmt::format("i{}", e));
    index[d] = place(taps, axes[d], d, tables);
    shape[d] = axes[d].out;
    const std::string to = fmt::format("Y{}", d);
    std::string value = fmt::format("{}[{}]", from, fmt::join(index, ","));
    if (taps.each > 1) {
      tables += fmt::format("W{}: {}[{},{}] = {{{}}}\n", d, type, axes[d].out, taps.each,
                            numbers(taps.weights));
      value = fmt::format("sum(t:{0}) {1} * W{2}[i{2},t]", taps.each, value, d);
    }
    stages += fmt::format("{}[{}] = {}\n", to, iterators(shape), value);
    from = to;
  }
  if (from == "X") return std::vector<int>{site.view(site.input(0), shape)};
  return site.write(declared("X", site.dtype(0), site.shape(0)) + "\n" + tables + stages,
                    {site.input(0)}, shape);
}

Result<Settings> settings_of(const Site& site) {
  Settings settings;
  settings.mode = LATHE_TRY(site.text("mode", "nearest"));
  settings.coordinates = LATHE_TRY(site.text("coordinate_transformation_mode",
                                             site.version() < 11 ? "asymmetric" : "half_pixel"));
  settings.rounding =
      LATHE_TRY(site.text("nearest_mode", site.version() < 11 ? "floor" : "round_prefer_floor"));
  settings.cubic = LATHE_TRY(site.real("cubic_coeff_a", -0.75));
  settings.exclude_outside = LATHE_TRY(site.integer("exclude_outside", 0)) != 0;
  if (settings.mode == "bilinear") settings.mode = "linear";
  if (settings.mode != "nearest" && settings.mode != "linear" && settings.mode != "cubic")
    return site.unsupported("its mode is '{}'", settings.mode);
  if (LATHE_TRY(site.integer("antialias", 0)) != 0) return site.unsupported("it smooths");
  constexpr std::array<std::string_view, 5> kCoordinates = {
      "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn"};
  if (std::ranges::find(kCoordinates, settings.coordinates) == kCoordinates.end())
    return site.unsupported("its attribute coordinate_transformation_mode is '{}'",
                            settings.coordinates);
  return settings;
}

// The scales are those of the dimensions that `given` names.
Made by_scales(Site& site, const std::vector<double>& scales, const std::vector<std::size_t>& given,
               const Settings& settings) {
  if (scales.size() != given.size())
    return site.wrong("it has {} scales for {} dimensions", scales.size(), given.size());
  std::vector<Axis> axes;
  for (const std::int64_t size : site.shape(0)) axes.push_back({size, size, 1});
  for (std::size_t k = 0; k < given.size(); ++k) {
    Axis& axis = axes[given[k]];
    axis.scale = scales[k];
    const double out = std::floor(static_cast<double>(axis.in) * axis.scale);
    if (!(out >= 1 && out <= 0x1p31)) return site.wrong("its scale {} is {}", k, scales[k]);
    axis.out = static_cast<std::int64_t>(out);
  }
  return resized(site, axes, settings);
}

// The same where the sizes are known: a scale times a size may round to less.
Made by_sizes(Site& site, const std::vector<std::int64_t>& sizes, const std::vector<double>& scales,
              const std::vector<std::size_t>& given, const Settings& settings) {
  std::vector<Axis> axes;
  for (const std::int64_t size : site.shape(0)) axes.push_back({size, size, 1});
  for (std::size_t k = 0; k < given.size(); ++k) {
    axes[given[k]].out = sizes[k];
    axes[given[k]].scale = scales[k];
  }
  return resized(site, axes, settings);
}

Made resize(Site& site) {
  const Settings settings = LATHE_TRY(settings_of(site));
  const std::string policy = LATHE_TRY(site.text("keep_aspect_ratio_policy", "stretch"));
  if (policy != "stretch")
    return site.unsupported("its attribute keep_aspect_ratio_policy is '{}'", policy);
  const std::size_t rank = site.shape(0).size();
  std::vector<std::int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  const auto given = LATHE_TRY(site.integers("axes", all));
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : given) axes.push_back(LATHE_TRY(site.axis(axis, rank)));
  const std::size_t scales = site.version() < 11 ? 1 : 2;
  if (site.has(scales) && site.at(scales).elements() > 0)
    return by_scales(site, LATHE_TRY(site.known(scales, "scales")), axes, settings);
  if (!site.has(3)) return site.wrong("it has neither scales nor sizes");
  const auto sizes = LATHE_TRY(site.known_integers(3, "sizes"));
  std::vector<double> as_scales;
  for (std::size_t k = 0; k < sizes.size() && k < axes.size(); ++k) {
    if (sizes[k] < 1 || sizes[k] > std::int64_t{1} << 31)
      return site.wrong("its size {} is {}", k, sizes[k]);
    as_scales.push_back(static_cast<double>(sizes[k]) /
                        static_cast<double>(site.shape(0)[axes[k]]));
  }
  if (sizes.size() != axes.size())
    return site.wrong("it has {} sizes for {} dimensions", sizes.size(), axes.size());
  return by_sizes(site, sizes, as_scales, axes, settings);
}

Made upsample(Site& site) {
  Settings settings = LATHE_TRY(settings_of(site));
  settings.coordinates = "asymmetric";
  settings.rounding = "floor";
  std::vector<std::size_t> axes(site.shape(0).size());
  std::iota(axes.begin(), axes.end(), 0);
  const auto* given = site.attribute("scales");
  if (given) return by_scales(site, given->reals, axes, settings);
  if (!site.has(1)) return site.wrong("it has no scales");
  return by_scales(site, LATHE_TRY(site.known(1, "scales")), axes, settings);
}

}  // namespace

std::vector<Row> resize_rows() { return {{"Resize", 10, 1, resize}, {"Upsample", 7, 1, upsample}}; }

}  // namespace lathe::graph
