#include "compiler/ops/pool.h"

#include <algorithm>

#include "compiler/ops/padding.h"
#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

struct PoolAxis {
  std::int64_t in, kernel, stride, dilation, before, after, out;
  std::string name, tap;  // iterators: "y", "r"

  std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
  std::int64_t room() const { return in + before + after; }
  // Of the last window.
  std::int64_t first() const { return (out - 1) * stride - before; }
  bool padded() const { return before > 0 || first() + reach() > in; }
  // It reaches beyond the padding, which PyTorch's ceil_mode lets it.
  bool overhangs() const { return first() + reach() > in + after; }

  // Writes "2*y + r - 1".
  std::string index() const {
    std::string text = fmt::format("{}*{} + {}*{}", stride, name, dilation, tap);
    return before == 0 ? text : fmt::format("{} - {}", text, before);
  }
  // Writes how many taps of a window without dilation are inside, as an i64.
  std::string inside() const {
    return fmt::format("(min({0}*{1} + {2}, {3}) - max({0}*{1} - {4}, 0))", stride, name,
                       kernel - before, in, before);
  }
  // The same, with those in the padding.
  std::string in_room() const {
    return overhangs() ? fmt::format("min({}, {} - {}*{})", kernel, room(), stride, name)
                       : std::to_string(kernel);
  }
};

struct Pool {
  std::vector<std::int64_t> input;
  std::vector<PoolAxis> axes;

  bool padded() const { return std::ranges::any_of(axes, &PoolAxis::padded); }
  bool overhangs() const { return std::ranges::any_of(axes, &PoolAxis::overhangs); }
  // Writes "X[n,c,...]" of a tap, with what is read outside.
  std::string read(const std::string& outside) const {
    std::string indices;
    for (const PoolAxis& axis : axes) indices += "," + axis.index();
    return fmt::format("X[n,c{}{}]", indices, padded() ? " else " + outside : std::string());
  }
  std::string over() const {
    std::vector<std::string> taps;
    for (const PoolAxis& axis : axes) taps.push_back(fmt::format("{}:{}", axis.tap, axis.kernel));
    return fmt::format("{}", fmt::join(taps, ","));
  }
  std::int64_t taps() const {
    std::vector<std::int64_t> kernel;
    for (const PoolAxis& axis : axes) kernel.push_back(axis.kernel);
    return elements_of(kernel);
  }
};

// As many windows as fit; with `ceil` one more, if it begins inside of the input or of what is
// before it.
std::int64_t windows_of(const PoolAxis& axis, bool ceil) {
  const std::int64_t more = axis.room() - axis.reach() + (ceil ? axis.stride - 1 : 0);
  if (more < 0) return 0;
  const std::int64_t out = more / axis.stride + 1;
  return ceil && (out - 1) * axis.stride >= axis.in + axis.before ? out - 1 : out;
}

// The first window without a tap in the input; -1: each has one. Those that begin inside the input
// have. Of the others the taps step over it, or end before it.
std::int64_t window_outside(const PoolAxis& axis) {
  const std::int64_t left = std::min(axis.out, (axis.before + axis.stride - 1) / axis.stride);
  for (std::int64_t window = 0; window < left; ++window) {
    const std::int64_t start = axis.before - window * axis.stride;  // before the input
    const std::int64_t tap = (start + axis.dilation - 1) / axis.dilation;
    if (tap >= axis.kernel || tap * axis.dilation - start >= axis.in) return window;
    // What holds for one holds for those that begin later, unless they can step over.
    if (axis.dilation <= axis.in) break;
  }
  return axis.first() >= axis.in ? (axis.in + axis.before - 1) / axis.stride + 1 : -1;
}

Status fit_windows(PoolAxis& axis, bool ceil) {
  axis.out = windows_of(axis, ceil);
  if (axis.out < 1)
    return Values::error("kernel",
                         "the window reaches over {} elements along {}, the padded input has {}",
                         axis.reach(), axis.name, axis.room());
  if (const std::int64_t window = window_outside(axis); window >= 0)
    return Values::error("pad",
                         "window {} along {} lies wholly outside the input, whose {} elements have "
                         "{} before and {} after; give less padding",
                         window, axis.name, axis.in, axis.before, axis.after);
  return {};
}

Result<Pool> pool_of(const Values& values, std::size_t rank) {
  const std::string_view letters = letters_of(rank);
  Pool out;
  out.input = LATHE_TRY(values.dims("input", 2 + rank));
  const auto kernel = LATHE_TRY(values.each("kernel", letters));
  const auto stride = values.has("stride") ? LATHE_TRY(values.each("stride", letters)) : kernel;
  const auto padding = LATHE_TRY(padding_of(values, rank));
  const std::vector<std::int64_t> dilation = values.has("dilation")
                                                 ? LATHE_TRY(values.each("dilation", letters))
                                                 : std::vector<std::int64_t>(rank, 1);
  for (std::size_t a = 0; a < rank; ++a) {
    PoolAxis axis{out.input[2 + a],
                  kernel[a],
                  stride[a],
                  dilation[a],
                  padding[a].before,
                  padding[a].after,
                  0,
                  std::string(1, letters[a]),
                  std::string(1, taps_of(rank)[a])};
    LATHE_TRY_STATUS(fit_windows(axis, values.flag("ceil-mode")));
    out.axes.push_back(std::move(axis));
  }
  if (out.taps() >= std::int64_t{1} << 40)
    return Values::error("kernel", "a window of 2^40 elements or more is too large");
  return out;
}

Result<std::vector<Algorithm>> pooled(const Pool& pool, std::string_view kind, Dtype dtype,
                                      const std::string& value) {
  std::vector<std::int64_t> output = {pool.input[0], pool.input[1]};
  std::string iters = "n,c";
  for (const PoolAxis& axis : pool.axes) {
    output.push_back(axis.out);
    iters += "," + axis.name;
  }
  return direct(parsed(fmt::format("{}_pool{}d", kind, pool.axes.size()),
                       fmt::format("{}\n{}\nY[{}] = {}\n", typed(shaped("X", pool.input), dtype),
                                   typed(shaped("Y", output), dtype), iters, value)));
}

std::string lowest_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kI8: return "-128";
    case Dtype::kI16: return "-32768";
    case Dtype::kU8:
    case Dtype::kU16:
    case Dtype::kU32: return "0";
    case Dtype::kI32: return "-2147483648";
    default: return "-inf";
  }
}

template <std::size_t kRank>
Result<std::vector<Algorithm>> build_max(const Values& values) {
  const Dtype dtype = LATHE_TRY(dtype_of(values));
  const Pool pool = LATHE_TRY(pool_of(values, kRank));
  if (dtype == Dtype::kI64 && pool.padded())
    return Values::error(
        pool.overhangs() ? "ceil-mode" : "pad",
        "i64 has no number below all others to pad with; leave it out, or take f64");
  return pooled(pool, "max", dtype,
                fmt::format("max({}) {}", pool.over(), pool.read(lowest_of(dtype))));
}

template <std::size_t kRank>
Result<std::vector<Algorithm>> build_avg(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const Pool pool = LATHE_TRY(pool_of(values, kRank));
  const bool inside = values.flag("inside-only") && pool.padded();
  std::string count = std::to_string(pool.taps());
  if (inside || pool.overhangs()) {
    std::vector<std::string> counts;
    for (const PoolAxis& axis : pool.axes)
      counts.push_back(inside ? axis.inside() : axis.in_room());
    count = fmt::format("{}({})", name_of(te::accumulator_of(dtype)), fmt::join(counts, " * "));
  }
  return pooled(pool, "avg", dtype,
                fmt::format("(sum({}) {}) / {}", pool.over(), pool.read("0"), count));
}

Result<std::vector<Algorithm>> build_global(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const auto& input = values.numbers("input");
  if (input.size() < 3)
    return Values::error("input", "3 dimensions or more are needed, [{}] has {}",
                         fmt::join(input, ","), input.size());
  std::vector<std::string> taps;
  for (std::size_t d = 2; d < input.size(); ++d) taps.push_back(fmt::format("k{}", d));
  return direct(
      parsed("global_avg_pool",
             fmt::format("{}\nY[n,c] = (sum({}) X[n,c,{}]) / {}\n",
                         typed(shaped("X", input), dtype), fmt::join(taps, ","),
                         fmt::join(taps, ","), elements_of({input.begin() + 2, input.end()}))));
}

std::vector<Parameter> pool_parameters(std::size_t rank, const std::string& spatial) {
  const std::string each = one_or_each(rank);
  return {{Kind::kDims, "input", "", "shape of the input: n,c," + spatial},
          {Kind::kInts, "kernel", "", "size of the windows: " + each},
          {Kind::kInts, "stride", "kernel", each},
          pad_parameter(rank, "padding around the input"),
          {Kind::kFlag, "ceil-mode", "false",
           "the size of the output is rounded up: a last window may reach beyond the padding"}};
}

Operator max_pool(std::size_t rank, const std::string& spatial,
                  Result<std::vector<Algorithm>> (*build)(const Values&)) {
  std::vector<Parameter> parameters = pool_parameters(rank, spatial);
  parameters.push_back({Kind::kInts, "dilation", "1", one_or_each(rank)});
  parameters.push_back(dtype_parameter());
  return {fmt::format("max_pool{}d", rank),
          fmt::format("largest element of each window of X[n,c,{}]", spatial),
          std::move(parameters), build};
}

Operator avg_pool(std::size_t rank, const std::string& spatial,
                  Result<std::vector<Algorithm>> (*build)(const Values&)) {
  std::vector<Parameter> parameters = pool_parameters(rank, spatial);
  parameters.push_back({Kind::kFlag, "inside-only", "false",
                        "divide by the number of elements inside the input, not by the kernel's"});
  parameters.push_back(float_parameter());
  return {fmt::format("avg_pool{}d", rank),
          fmt::format("mean of each window of X[n,c,{}]", spatial), std::move(parameters), build};
}

}  // namespace

Operator max_pool1d() { return max_pool(1, "w", build_max<1>); }
Operator max_pool2d() { return max_pool(2, "h,w", build_max<2>); }
Operator max_pool3d() { return max_pool(3, "d,h,w", build_max<3>); }
Operator avg_pool1d() { return avg_pool(1, "w", build_avg<1>); }
Operator avg_pool2d() { return avg_pool(2, "h,w", build_avg<2>); }
Operator avg_pool3d() { return avg_pool(3, "d,h,w", build_avg<3>); }

Operator global_avg_pool() {
  return {
      "global_avg_pool",
      "mean of X[n,c,...] over all that follows n,c",
      {{Kind::kDims, "input", "", "shape of the input: n,c,h,w or any with 3 dimensions or more"},
       float_parameter()},
      build_global};
}

}  // namespace lathe::ops
