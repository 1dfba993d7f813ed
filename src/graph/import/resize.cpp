// Images in another size: which axes change, as compiler/ops' resize takes them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

// By dimension of the input. Sizes or scales, whichever the node has.
struct Resized {
  std::vector<std::int64_t> sizes;
  std::vector<double> scales;
  std::vector<double> begin, end;  // the part that is taken, of 1

  bool changes(std::size_t d, const Shape& from) const {
    return (scales.empty() ? sizes[d] != from[d] : scales[d] != 1) || begin[d] != 0 || end[d] != 1;
  }
};

// Dimensions that change stand behind two that do not: those before them are one, and so are those
// that lie side by side among and behind them.
struct Image {
  std::vector<std::int64_t> input;
  std::vector<std::string> sizes, scales, begin, end;

  void add(const Resized& to, const Shape& from, std::size_t d) {
    input.push_back(from[d]);
    if (to.scales.empty()) sizes.push_back(std::to_string(to.sizes[d]));
    else scales.push_back(number_text(to.scales[d]));
    begin.push_back(number_text(to.begin[d]));
    end.push_back(number_text(to.end[d]));
  }
  void add_kept(const Resized& to, std::int64_t size) {
    input.push_back(size);
    if (to.scales.empty()) sizes.push_back(std::to_string(size));
    else scales.emplace_back("1");
    begin.emplace_back("0");
    end.emplace_back("1");
  }
};

Image image_of(const Resized& to, const Shape& from) {
  std::vector<std::size_t> changed;
  for (std::size_t d = 0; d < from.size(); ++d)
    if (to.changes(d, from)) changed.push_back(d);
  Image image;
  const auto kept = [&](std::size_t begin, std::size_t end) {
    return elements_of({from.begin() + static_cast<std::ptrdiff_t>(begin),
                        from.begin() + static_cast<std::ptrdiff_t>(end)});
  };
  image.input = {1, kept(0, changed[0])};
  for (std::size_t c = 0; c < changed.size(); ++c) {
    image.add(to, from, changed[c]);
    const std::size_t next = c + 1 < changed.size() ? changed[c + 1] : from.size();
    if (const std::int64_t between = kept(changed[c] + 1, next); between > 1)
      image.add_kept(to, between);
  }
  return image;
}

std::string with_dashes(std::string text) {
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string with_commas(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ","));
}

// What of the node says how elements are made of others.
Result<ops::Arguments> manner_of(const Site& site) {
  const bool old = site.version() < 11;
  const std::string mode = LATHE_TRY(site.text("mode", "nearest"));
  ops::Arguments out = {
      {"mode", mode == "bilinear" ? "linear" : mode},
      {"coordinates", with_dashes(LATHE_TRY(site.text("coordinate_transformation_mode",
                                                      old ? "asymmetric" : "half_pixel")))},
      {"rounding",
       with_dashes(LATHE_TRY(site.text("nearest_mode", old ? "floor" : "round_prefer_floor")))},
      {"cubic-weight", number_text(LATHE_TRY(site.real("cubic_coeff_a", -0.75)))},
      {"outside", number_text(LATHE_TRY(site.real("extrapolation_value", 0)))},
      {"dtype", std::string(name_of(site.dtype(0)))}};
  if (LATHE_TRY(site.integer("exclude_outside", 0)) != 0) out["exclude-outside"] = "true";
  if (LATHE_TRY(site.integer("antialias", 0)) != 0) return site.unsupported("it smooths");
  const std::string policy = LATHE_TRY(site.text("keep_aspect_ratio_policy", "stretch"));
  if (policy != "stretch")
    return site.unsupported("its attribute keep_aspect_ratio_policy is '{}'", policy);
  return out;
}

Result<Shape> resized_shape(const Site& site, const Resized& to) {
  Shape shape = site.shape(0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const double size = to.scales.empty()
                            ? static_cast<double>(to.sizes[d])
                            : std::floor(static_cast<double>(shape[d]) * to.scales[d]);
    if (!(size >= 1 && size <= 0x1p31))
      return site.wrong("it makes {} elements of {} along dimension {}", size, shape[d], d);
    shape[d] = static_cast<std::int64_t>(size);
  }
  return shape;
}

Made resized(Site& site, const Resized& to, ops::Arguments arguments) {
  const Shape& from = site.shape(0);
  const Shape shape = LATHE_TRY(resized_shape(site, to));
  bool any = false;
  for (std::size_t d = 0; d < from.size(); ++d) any |= to.changes(d, from);
  if (!any) return std::vector<int>{site.view(site.input(0), shape)};
  const Image image = image_of(to, from);
  if (image.input.size() > 5)
    return site.unsupported("it changes more than three dimensions, or such that lie apart");
  arguments["input"] = fmt::format("{}", fmt::join(image.input, ","));
  if (to.scales.empty()) arguments["size"] = with_commas(image.sizes);
  else arguments["scales"] = with_commas(image.scales);
  if (arguments["coordinates"] == "tf-crop-and-resize")
    arguments["crop"] = with_commas(image.begin) + "," + with_commas(image.end);
  return site.call("resize", arguments, {site.input(0)}, shape);
}

// The part of each axis in `axes` that is taken.
Status set_crop(const Site& site, const std::vector<std::size_t>& axes, Resized& to) {
  if (!site.has(1)) return site.wrong("it has no part of the image to take");
  const auto roi = LATHE_TRY(site.known(1, "parts of the image"));
  if (roi.size() != 2 * axes.size())
    return site.wrong("it has {} ends of parts for {} dimensions", roi.size(), axes.size());
  for (std::size_t k = 0; k < axes.size(); ++k) {
    to.begin[axes[k]] = roi[k];
    to.end[axes[k]] = roi[k + axes.size()];
  }
  return {};
}

Resized unchanged(const Site& site) {
  const std::size_t rank = site.shape(0).size();
  return {{}, {}, std::vector<double>(rank, 0), std::vector<double>(rank, 1)};
}

Status set_scales(const Site& site, const std::vector<double>& scales,
                  const std::vector<std::size_t>& axes, Resized& to) {
  if (scales.size() != axes.size())
    return site.wrong("it has {} scales for {} dimensions", scales.size(), axes.size());
  to.scales.assign(site.shape(0).size(), 1);
  for (std::size_t k = 0; k < axes.size(); ++k) to.scales[axes[k]] = scales[k];
  return {};
}

Made resize(Site& site) {
  ops::Arguments arguments = LATHE_TRY(manner_of(site));
  const std::size_t rank = site.shape(0).size();
  std::vector<std::int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : LATHE_TRY(site.integers("axes", all)))
    axes.push_back(LATHE_TRY(site.axis(axis, rank)));
  Resized to = unchanged(site);
  if (arguments["coordinates"] == "tf-crop-and-resize") LATHE_TRY_STATUS(set_crop(site, axes, to));
  const std::size_t scales = site.version() < 11 ? 1 : 2;
  if (site.has(scales) && site.at(scales).elements() > 0) {
    LATHE_TRY_STATUS(set_scales(site, LATHE_TRY(site.known(scales, "scales")), axes, to));
    return resized(site, to, std::move(arguments));
  }
  if (!site.has(3)) return site.wrong("it has neither scales nor sizes");
  const auto sizes = LATHE_TRY(site.known_integers(3, "sizes"));
  if (sizes.size() != axes.size())
    return site.wrong("it has {} sizes for {} dimensions", sizes.size(), axes.size());
  to.sizes = site.shape(0);
  for (std::size_t k = 0; k < axes.size(); ++k) to.sizes[axes[k]] = sizes[k];
  return resized(site, to, std::move(arguments));
}

// What Resize was called first.
Made upsample(Site& site) {
  ops::Arguments arguments = LATHE_TRY(manner_of(site));
  arguments["coordinates"] = "asymmetric";
  arguments["rounding"] = "floor";
  std::vector<std::size_t> axes(site.shape(0).size());
  std::iota(axes.begin(), axes.end(), 0);
  Resized to = unchanged(site);
  const auto* given = site.attribute("scales");
  if (!given && !site.has(1)) return site.wrong("it has no scales");
  LATHE_TRY_STATUS(
      set_scales(site, given ? given->reals : LATHE_TRY(site.known(1, "scales")), axes, to));
  return resized(site, to, std::move(arguments));
}

}  // namespace

std::vector<Row> resize_rows() { return {{"Resize", 10, 1, resize}, {"Upsample", 7, 1, upsample}}; }

}  // namespace lathe::graph
