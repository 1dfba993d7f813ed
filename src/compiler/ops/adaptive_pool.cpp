#include "compiler/ops/adaptive_pool.h"

#include <algorithm>

#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

// Window i goes from in*i/out to in*(i + 1)/out, rounded down and up.
struct AdaptiveAxis {
  std::int64_t in, out;
  std::string name, tap;

  bool even() const { return in % out == 0; }
  std::int64_t first(std::int64_t window) const { return window * in / out; }
  std::int64_t end(std::int64_t window) const { return ((window + 1) * in + out - 1) / out; }
  std::int64_t taps() const {
    std::int64_t most = 1;
    for (std::int64_t i = 0; i < out; ++i) most = std::max(most, end(i) - first(i));
    return most;
  }
  std::string over() const { return fmt::format("{}:{}", tap, taps()); }
  std::string place() const {
    return even() ? fmt::format("{}*{} + {}", in / out, name, tap)
                  : fmt::format("{}*{}/{} + {}", name, in, out, tap);
  }
  // A place inside: windows are shorter than the longest.
  std::string index() const {
    return even() ? place() : fmt::format("min({}, {})", place(), in - 1);
  }
  std::string last() const { return fmt::format("(({} + 1)*{} + {})/{}", name, in, out - 1, out); }
  std::string count() const {
    return even() ? std::to_string(in / out)
                  : fmt::format("({} - {}*{}/{})", last(), name, in, out);
  }
};

struct AdaptivePool {
  std::vector<std::int64_t> input;
  AdaptiveAxis y, x;
  Dtype dtype;

  // The element of a tap, or what stands for those that the window has not.
  std::string term(const std::string& otherwise) const {
    std::string inside;
    for (const AdaptiveAxis* axis : {&y, &x})
      if (!axis->even())
        inside += (inside.empty() ? "" : " && ") + axis->place() + " < " + axis->last();
    const std::string read = fmt::format("X[n,c,{},{}]", y.index(), x.index());
    return inside.empty() ? read : fmt::format("select({}, {}, {})", inside, read, otherwise);
  }
  Result<std::vector<Algorithm>> written(const char* operation, const std::string& value) const {
    const std::vector<std::int64_t> output = {input[0], input[1], y.out, x.out};
    return direct(
        parsed(operation, fmt::format("{}\n{}\nY[n,c,y,x] = {}\n", typed(shaped("X", input), dtype),
                                      typed(shaped("Y", output), dtype), value)));
  }
  std::string taps() const { return y.over() + "," + x.over(); }
};

Result<AdaptivePool> adaptive_pool_of(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const auto input = LATHE_TRY(values.dims("input", 4));
  const auto output = LATHE_TRY(values.each("windows", "yx"));
  return AdaptivePool{
      input, {input[2], output[0], "y", "r"}, {input[3], output[1], "x", "s"}, dtype};
}

Result<std::vector<Algorithm>> build_adaptive_max(const Values& values) {
  const AdaptivePool pool = LATHE_TRY(adaptive_pool_of(values));
  return pool.written("adaptive_max_pool2d",
                      fmt::format("max({}) {}", pool.taps(), pool.term("-inf")));
}

Result<std::vector<Algorithm>> build_adaptive_avg(const Values& values) {
  const AdaptivePool pool = LATHE_TRY(adaptive_pool_of(values));
  const bool fixed = pool.y.even() && pool.x.even();
  const std::string count =
      fixed ? std::to_string(pool.y.taps() * pool.x.taps())
            : fmt::format("{}({} * {})", name_of(te::accumulator_of(pool.dtype)),
                          "i64(" + pool.y.count() + ")", "i64(" + pool.x.count() + ")");
  return pool.written("adaptive_avg_pool2d",
                      fmt::format("(sum({}) {}) / {}", pool.taps(), pool.term("0"), count));
}

std::vector<Parameter> adaptive_parameters() {
  return {{Kind::kDims, "input", "", "shape of the input: n,c,h,w"},
          {Kind::kInts, "windows", "", "how many: one value, or y,x"},
          float_parameter()};
}

}  // namespace

Operator adaptive_avg_pool2d() {
  return {"adaptive_avg_pool2d", "means of so many windows of X[n,c,h,w]", adaptive_parameters(),
          build_adaptive_avg};
}

Operator adaptive_max_pool2d() {
  return {"adaptive_max_pool2d", "largest elements of so many windows of X[n,c,h,w]",
          adaptive_parameters(), build_adaptive_max};
}

}  // namespace lathe::ops
