// Convolutions and pooling.
#include <algorithm>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

std::string comma(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

// What convolutions and pools have in common, along the axes behind n and c.
struct Window {
  std::size_t rank = 0;
  std::vector<std::int64_t> kernel, stride, dilation, before, after;

  std::string pads() const {
    return rank == 1 && before == after ? comma(before) : comma(before) + "," + comma(after);
  }
};

Status check_positive(const Site& site, const char* name, const std::vector<std::int64_t>& numbers,
                      std::size_t rank, std::int64_t least) {
  if (numbers.size() != rank)
    return site.wrong("its attribute '{}' has {} numbers, and needs {}", name, numbers.size(),
                      rank);
  for (const std::int64_t number : numbers)
    if (number < least || number > std::int64_t{1} << 30)
      return site.wrong("its attribute '{}' has the number {}", name, number);
  return {};
}

Status set_pads(const Site& site, Window& window) {
  const std::string automatic = LATHE_TRY(site.text("auto_pad", "NOTSET"));
  const auto pads = LATHE_TRY(site.integers("pads", std::vector<std::int64_t>(2 * window.rank, 0)));
  LATHE_TRY_STATUS(check_positive(site, "pads", pads, 2 * window.rank, 0));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(window.rank);
  window.before.assign(pads.begin(), middle);
  window.after.assign(middle, pads.end());
  if (automatic == "NOTSET") return {};
  if (automatic != "VALID" && automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
    return site.wrong("its attribute auto_pad is '{}'", automatic);
  for (std::size_t a = 0; a < window.rank; ++a) {
    window.before[a] = window.after[a] = 0;
    if (automatic == "VALID") continue;
    const std::int64_t in = site.shape(0)[2 + a], stride = window.stride[a];
    const std::int64_t out = (in + stride - 1) / stride;
    const std::int64_t all = std::max<std::int64_t>(
        0, (out - 1) * stride + window.dilation[a] * (window.kernel[a] - 1) + 1 - in);
    (automatic == "SAME_UPPER" ? window.before : window.after)[a] = all / 2;
    (automatic == "SAME_UPPER" ? window.after : window.before)[a] = all - all / 2;
  }
  return {};
}

// `kernel`: where the attribute is left out; empty: it must be there.
Result<Window> window_of(const Site& site, std::vector<std::int64_t> kernel) {
  if (site.shape(0).size() < 3 || site.shape(0).size() > 5)
    return site.unsupported("its input has {} dimensions, and 3 to 5 are known here",
                            site.shape(0).size());
  for (const std::int64_t size : site.shape(0))
    if (size > std::int64_t{1} << 30)
      return site.unsupported("its input is {}", typed(site.dtype(0), site.shape(0)));
  Window window{site.shape(0).size() - 2};
  const std::vector<std::int64_t> ones(window.rank, 1);
  window.kernel = LATHE_TRY(site.integers("kernel_shape", std::move(kernel)));
  window.stride = LATHE_TRY(site.integers("strides", ones));
  window.dilation = LATHE_TRY(site.integers("dilations", ones));
  LATHE_TRY_STATUS(check_positive(site, "kernel_shape", window.kernel, window.rank, 1));
  LATHE_TRY_STATUS(check_positive(site, "strides", window.stride, window.rank, 1));
  LATHE_TRY_STATUS(check_positive(site, "dilations", window.dilation, window.rank, 1));
  LATHE_TRY_STATUS(set_pads(site, window));
  return window;
}

Result<Window> window_of_weight(const Site& site) {
  const Shape& weight = site.shape(1);
  if (weight.size() != site.shape(0).size())
    return site.wrong("its input is {}, its weight {}", typed(site.dtype(0), site.shape(0)),
                      typed(site.dtype(1), weight));
  if (weight.size() < 3) return site.wrong("its weight is {}", typed(site.dtype(1), weight));
  const Shape kernel(weight.begin() + 2, weight.end());
  Window window = LATHE_TRY(window_of(site, kernel));
  if (window.kernel != kernel)
    return site.wrong("its kernel_shape is [{}], its weight {}", comma(window.kernel),
                      typed(site.dtype(1), weight));
  return window;
}

Result<ops::Arguments> convolution(const Site& site, const Window& window) {
  if (site.dtype(0) != site.dtype(1))
    return site.wrong("its input is {}, its weight {}", name_of(site.dtype(0)),
                      name_of(site.dtype(1)));
  ops::Arguments arguments{{"input", comma(site.shape(0))},
                           {"weight", comma(site.shape(1))},
                           {"stride", comma(window.stride)},
                           {"dilation", comma(window.dilation)},
                           {"groups", std::to_string(LATHE_TRY(site.integer("group", 1)))},
                           {"pad", window.pads()},
                           {"dtype", std::string(name_of(site.dtype(0)))}};
  if (site.has(2)) arguments["epilogue"] = "bias";
  return arguments;
}

std::vector<int> given_inputs(const Site& site) {
  std::vector<int> ids{site.input(0), site.input(1)};
  if (site.has(2)) ids.push_back(site.input(2));
  return ids;
}

Status check_bias(const Site& site, std::int64_t channels) {
  if (site.has(2) && (site.shape(2) != Shape{channels} || site.dtype(2) != site.dtype(0)))
    return site.wrong("its bias is {}, for {} channels", typed(site.dtype(2), site.shape(2)),
                      channels);
  return {};
}

// With output_shape, or where the output is to be as large as the stride makes it, pads follow; or
// elements more at the end, where it is larger than the input makes it.
Status set_transposed_pads(const Site& site, std::vector<std::int64_t>& more, Window& window) {
  const std::string automatic = LATHE_TRY(site.text("auto_pad", "NOTSET"));
  auto wanted = LATHE_TRY(site.integers("output_shape", {}));
  if (wanted.empty() && !automatic.starts_with("SAME")) return {};
  const bool same = wanted.empty();
  if (wanted.size() == window.rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!same) LATHE_TRY_STATUS(check_positive(site, "output_shape", wanted, window.rank, 1));
  for (std::size_t a = 0; a < window.rank; ++a) {
    const std::int64_t in = site.shape(0)[2 + a];
    const std::int64_t out = same ? in * window.stride[a] : wanted[a];
    const std::int64_t left = window.stride[a] * (in - 1) + more[a] +
                              (window.kernel[a] - 1) * window.dilation[a] + 1 - out;
    if (left < 0) more[a] -= left;
    const std::int64_t all = std::max<std::int64_t>(left, 0), half = all / 2;
    window.before[a] = automatic == "SAME_UPPER" ? half : all - half;
    window.after[a] = all - window.before[a];
  }
  return {};
}

Made conv_transpose(Site& site) {
  Window window = LATHE_TRY(window_of_weight(site));
  auto more = LATHE_TRY(site.integers("output_padding", std::vector<std::int64_t>(window.rank, 0)));
  LATHE_TRY_STATUS(check_positive(site, "output_padding", more, window.rank, 0));
  LATHE_TRY_STATUS(set_transposed_pads(site, more, window));
  ops::Arguments arguments = LATHE_TRY(convolution(site, window));
  arguments["output-padding"] = comma(more);
  const std::int64_t groups = LATHE_TRY(site.integer("group", 1));
  LATHE_TRY_STATUS(check_bias(site, elements_of({site.shape(1)[1], groups})));
  return site.call(fmt::format("conv_transpose{}d", window.rank), arguments, given_inputs(site));
}

Result<ops::Arguments> pooling(const Site& site, const Window& window) {
  ops::Arguments arguments{{"input", comma(site.shape(0))},
                           {"kernel", comma(window.kernel)},
                           {"stride", comma(window.stride)},
                           {"pad", window.pads()},
                           {"dtype", std::string(name_of(site.dtype(0)))}};
  if (LATHE_TRY(site.integer("ceil_mode", 0)) != 0) arguments["ceil-mode"] = "true";
  return arguments;
}

// Of each window the place of its first largest element, among all of the input.
Made places_of_largest(Site& site, const Window& window, int largest) {
  const Shape &in = site.shape(0), out = site.value(largest).shape;
  const bool last_first = LATHE_TRY(site.integer("storage_order", 0)) != 0;
  std::vector<std::string> own, read{"i0", "i1"}, taps, inside;
  std::string place = fmt::format("(i0*{} + i1)", in[1]);
  for (std::size_t d = 0; d < in.size(); ++d) own.push_back(fmt::format("i{}", d));
  for (std::size_t a = 0; a < window.rank; ++a) {
    taps.push_back(fmt::format("k{}:{}", a, window.kernel[a]));
    read.push_back(fmt::format("({}*i{} + {}*k{} - {})", window.stride[a], a + 2,
                               window.dilation[a], a, window.before[a]));
    inside.push_back(fmt::format("{0} >= 0 && {0} < {1}", read.back(), in[a + 2]));
  }
  for (std::size_t n = 0; n < window.rank; ++n) {
    const std::size_t d = last_first ? in.size() - 1 - n : n + 2;
    place = fmt::format("({} * {} + {})", place, in[d], read[d]);
  }
  const std::string nothing = is_float(site.dtype(0)) ? "-inf" : "0";
  return site.write(
      fmt::format("{}\n{}\noutput {}\n"
                  "I[{}] = min({}) select({} && X[{} else {}] == M[{}], {}, {})\n",
                  declared("X", site.dtype(0), in), declared("M", site.dtype(0), out),
                  declared("I", Dtype::kI64, out), iterators(out), fmt::join(taps, ","),
                  fmt::join(inside, " && "), fmt::join(read, ","), nothing, fmt::join(own, ","),
                  place, elements_of(in) - 1),
      {site.input(0), largest}, out);
}

Made max_pool(Site& site) {
  const Window window = LATHE_TRY(window_of(site, {}));
  ops::Arguments arguments = LATHE_TRY(pooling(site, window));
  arguments["dilation"] = comma(window.dilation);
  auto ids =
      LATHE_TRY(site.call(fmt::format("max_pool{}d", window.rank), arguments, {site.input(0)}));
  if (site.wants(1)) ids.push_back(LATHE_TRY(places_of_largest(site, window, ids[0]))[0]);
  return ids;
}

Made average_pool(Site& site) {
  const Window window = LATHE_TRY(window_of(site, {}));
  if (std::ranges::any_of(window.dilation, [](std::int64_t d) { return d != 1; }))
    return site.unsupported("its attribute dilations is [{}]", comma(window.dilation));
  ops::Arguments arguments = LATHE_TRY(pooling(site, window));
  if (LATHE_TRY(site.integer("count_include_pad", 0)) == 0) arguments["inside-only"] = "true";
  return site.call(fmt::format("avg_pool{}d", window.rank), arguments, {site.input(0)});
}

// Over all that follows n and c, which stays as sizes of 1.
Made global_pool(Site& site, const char* op) {
  if (site.shape(0).size() < 3)
    return site.wrong("its input is {}", typed(site.dtype(0), site.shape(0)));
  Shape shape(site.shape(0).size(), 1);
  shape[0] = site.shape(0)[0];
  shape[1] = site.shape(0)[1];
  ops::Arguments arguments{{"input", comma(site.shape(0))},
                           {"dtype", std::string(name_of(site.dtype(0)))}};
  if (std::string_view(op) == "mean")
    return site.call("global_avg_pool", arguments, {site.input(0)}, shape);
  std::vector<std::int64_t> axes;
  for (std::size_t d = 2; d < shape.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  arguments["op"] = op;
  arguments["axes"] = comma(axes);
  return site.call("reduce", arguments, {site.input(0)}, shape);
}

}  // namespace

Made convolution_of(Site& site) {
  const Window window = LATHE_TRY(window_of_weight(site));
  LATHE_TRY_STATUS(check_bias(site, site.shape(1)[0]));
  return site.call(fmt::format("conv{}d", window.rank), LATHE_TRY(convolution(site, window)),
                   given_inputs(site));
}

std::vector<Row> window_rows() {
  return {{"Conv", 1, 2, convolution_of},
          {"ConvTranspose", 1, 2, conv_transpose},
          {"MaxPool", 1, 1, max_pool},
          {"AveragePool", 7, 1, average_pool},
          {"GlobalAveragePool", 1, 1, [](Site& site) { return global_pool(site, "mean"); }},
          {"GlobalMaxPool", 1, 1, [](Site& site) { return global_pool(site, "max"); }}};
}

}  // namespace lathe::graph
