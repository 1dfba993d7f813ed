#include "compiler/ops/pool.h"

#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

struct PoolAxis {
  std::int64_t in, kernel, stride, dilation, pad, out;
  std::string name, tap;  // iterators: "y", "r"

  // Writes "2*y + r - 1".
  std::string index() const {
    std::string text = fmt::format("{}*{} + {}*{}", stride, name, dilation, tap);
    return pad == 0 ? text : fmt::format("{} - {}", text, pad);
  }
  // Writes how many taps of a window without dilation are inside, as an i64.
  std::string inside() const {
    return fmt::format("(min({0}*{1} + {2}, {3}) - max({0}*{1} - {4}, 0))", stride, name,
                       kernel - pad, in, pad);
  }
};

struct Pool {
  std::vector<std::int64_t> input;
  PoolAxis y, x;

  bool padded() const { return y.pad + x.pad > 0; }
  // Writes "X[n,c,...]" of a tap, with what is read outside.
  std::string read(const std::string& outside) const {
    return fmt::format("X[n,c,{},{}{}]", y.index(), x.index(),
                       padded() ? " else " + outside : std::string());
  }
  std::string over() const { return fmt::format("r:{},s:{}", y.kernel, x.kernel); }
};

Result<PoolAxis> pool_axis(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                           std::int64_t dilation, std::int64_t pad, char name) {
  const std::int64_t reach = dilation * (kernel - 1) + 1, room = in + 2 * pad;
  if (2 * pad > reach)
    return Values::error("pad",
                         "{} along {} is more than half of the window, which reaches over {}", pad,
                         name, reach);
  if (reach > room)
    return Values::error("kernel",
                         "the window reaches over {} elements along {}, the padded input has {}",
                         reach, name, room);
  return PoolAxis{in,
                  kernel,
                  stride,
                  dilation,
                  pad,
                  (room - reach) / stride + 1,
                  std::string(1, name),
                  name == 'y' ? "r" : "s"};
}

Result<Pool> pool_of(const Values& values) {
  Pool out;
  out.input = LATHE_TRY(values.dims("input", 4));
  const auto kernel = LATHE_TRY(values.each("kernel", "yx"));
  const auto stride = values.has("stride") ? LATHE_TRY(values.each("stride", "yx")) : kernel;
  const auto pad = LATHE_TRY(values.each("pad", "yx", 0));
  const std::vector<std::int64_t> dilation = values.has("dilation")
                                                 ? LATHE_TRY(values.each("dilation", "yx"))
                                                 : std::vector<std::int64_t>{1, 1};
  out.y = LATHE_TRY(pool_axis(out.input[2], kernel[0], stride[0], dilation[0], pad[0], 'y'));
  out.x = LATHE_TRY(pool_axis(out.input[3], kernel[1], stride[1], dilation[1], pad[1], 'x'));
  return out;
}

Result<std::vector<Algorithm>> pooled(const Pool& pool, const char* name, Dtype dtype,
                                      const std::string& value) {
  const std::vector<std::int64_t> output = {pool.input[0], pool.input[1], pool.y.out, pool.x.out};
  return direct(
      parsed(name, fmt::format("{}\n{}\nY[n,c,y,x] = {}\n", typed(shaped("X", pool.input), dtype),
                               typed(shaped("Y", output), dtype), value)));
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

Result<std::vector<Algorithm>> build_max(const Values& values) {
  const Dtype dtype = LATHE_TRY(dtype_of(values));
  const Pool pool = LATHE_TRY(pool_of(values));
  if (dtype == Dtype::kI64 && pool.padded())
    return Values::error("pad", "i64 has no number below all others to pad with; give 0, or f64");
  return pooled(pool, "max_pool2d", dtype,
                fmt::format("max({}) {}", pool.over(), pool.read(lowest_of(dtype))));
}

Result<std::vector<Algorithm>> build_avg(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const Pool pool = LATHE_TRY(pool_of(values));
  std::string count = std::to_string(pool.y.kernel * pool.x.kernel);
  if (values.flag("inside-only") && pool.padded())
    count = fmt::format("{}({} * {})", name_of(te::accumulator_of(dtype)), pool.y.inside(),
                        pool.x.inside());
  return pooled(pool, "avg_pool2d", dtype,
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

std::vector<Parameter> pool_parameters() {
  return {{Kind::kDims, "input", "", "shape of the input: n,c,h,w"},
          {Kind::kInts, "kernel", "", "size of the windows: one value, or y,x"},
          {Kind::kInts, "stride", "kernel", "one value, or y,x"},
          {Kind::kInts, "pad", "0", "padding around the input: one value, or y,x"}};
}

}  // namespace

Operator max_pool2d() {
  std::vector<Parameter> parameters = pool_parameters();
  parameters.push_back({Kind::kInts, "dilation", "1", "one value, or y,x"});
  parameters.push_back(dtype_parameter());
  return {"max_pool2d", "largest element of each window of X[n,c,h,w]", std::move(parameters),
          build_max};
}

Operator avg_pool2d() {
  std::vector<Parameter> parameters = pool_parameters();
  parameters.push_back({Kind::kFlag, "inside-only", "false",
                        "divide by the number of elements inside the input, not by the kernel's"});
  parameters.push_back(float_parameter());
  return {"avg_pool2d", "mean of each window of X[n,c,h,w]", std::move(parameters), build_avg};
}

Operator global_avg_pool() {
  return {
      "global_avg_pool",
      "mean of X[n,c,...] over all that follows n,c",
      {{Kind::kDims, "input", "", "shape of the input: n,c,h,w or any with 3 dimensions or more"},
       float_parameter()},
      build_global};
}

}  // namespace lathe::ops
