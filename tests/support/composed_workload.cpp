#include "support/composed_workload.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/te/compose.h"
#include "compiler/te/parse.h"

namespace lathe {
namespace {

constexpr int kDeepest = 5;

// A part that reads a tensor of this shape and type, as X.
class Follower {
 public:
  Follower(const te::Tensor& tensor, Rng& rng)
      : shape_(tensor.shape), dtype_(tensor.dtype), rng_(rng) {
    for (std::size_t d = 0; d < shape_.size(); ++d) iters_.push_back(fmt::format("p{}", d));
    axis_ = rng_.below(shape_.size());
  }

  std::string text() {
    head_ = fmt::format("X: {}[{}]; ", name_of(dtype_), fmt::join(shape_, ","));
    if (dtype_ == Dtype::kBool) return head_ + of_bools();
    using Form = std::string (Follower::*)();
    static constexpr std::array<Form, 12> kForms = {
        &Follower::scan,    &Follower::scan,     &Follower::moved,  &Follower::clamped,
        &Follower::chosen,  &Follower::function, &Follower::cast,   &Follower::product,
        &Follower::product, &Follower::window,   &Follower::padded, &Follower::as_index};
    const std::string statement = (this->*kForms[rng_.below(kForms.size())])();
    return head_ + statement;
  }

 private:
  bool coin(double p = 0.5) { return rng_.chance(p); }
  std::string pick(std::initializer_list<const char*> options) {
    return options.begin()[rng_.below(options.size())];
  }
  bool real() const { return is_float(dtype_); }
  std::string joined(const std::vector<std::string>& parts) const {
    return fmt::format("{}", fmt::join(parts, ","));
  }
  std::string element() const { return fmt::format("X[{}]", joined(iters_)); }
  std::string type() const { return std::string(name_of(dtype_)); }
  // The iterators, that of the axis written so.
  std::string with(const std::string& index) const {
    std::vector<std::string> out = iters_;
    out[axis_] = index;
    return joined(out);
  }
  std::string sized(std::int64_t size) const { return with(fmt::format("{}:{}", at(), size)); }
  const std::string& at() const { return iters_[axis_]; }
  std::int64_t length() const { return shape_[axis_]; }
  std::string tamed(const std::string& sum) const {
    return real() ? fmt::format("tanh({})", sum) : fmt::format("{}({})", type(), sum);
  }

  std::string of_bools() {
    return coin() ? fmt::format("Y[{}] = !{}", joined(iters_), element())
                  : fmt::format("Y[{}] = select({}, 0.5, -{})", joined(iters_), element(), "1.5");
  }

  std::string scan() {
    const std::string own = fmt::format(
        "Y[{} else {}]",
        with(fmt::format("{} {} {}", at(), coin() ? "+" : "-", rng_.between(1, 3))), rng_.below(3));
    const std::string x = element();
    std::string value;
    switch (rng_.below(5)) {
      case 0: value = fmt::format("max({}, {})", own, x); break;
      case 1: value = fmt::format("min({}, {})", x, own); break;
      case 2: value = fmt::format("select({} > 1, {}, 1) + {}", x, own, x); break;
      case 3: value = real() ? fmt::format("0.5 * {} + {}", own, x) : own + " + " + x; break;
      default:
        value = real() ? fmt::format("sin({}) - {}", own, x) : fmt::format("{} ^ {}", own, x);
    }
    return fmt::format("Y[{}] = {}", joined(iters_), value);
  }

  // Resized, or turned around.
  std::string moved() {
    const std::int64_t size = rng_.between(1, 9);
    const std::string index =
        coin() ? fmt::format("{} * {} / {}", at(), length(), size)
               : fmt::format("({} + {}) % {}", at(), rng_.between(0, 4), length());
    return fmt::format("Y[{}] = X[{}]", sized(size), with(index));
  }

  std::string clamped() {
    const std::int64_t last = length() - 1, by = rng_.between(0, 3);
    const std::string index =
        coin() ? fmt::format("min(max({} - {}, 0), {})", at(), by, last)
               : fmt::format("abs({0} - abs({0} - {1} % {2}))", last, at(), length());
    return fmt::format("Y[{}] = X[{}]", sized(length() + by), with(index));
  }

  // Where a table of integers says.
  std::string chosen() {
    const std::string of = pick({"i8", "u8", "i16", "u16", "i32", "u32", "i64"});
    const std::int64_t size = rng_.between(1, 7), low = of[0] == 'u' ? 0 : -3;
    const bool promised = coin();
    head_ += fmt::format("I: {}[{}] in {}..{}; ", of, size, promised ? 0 : low,
                         promised ? std::min<std::int64_t>(length() - 1, 100) : 40);
    const std::string index = fmt::format("I[{}]{}", at(), promised || coin() ? "" : " + 1");
    if (!promised && coin())
      return fmt::format("Y[{}] = X[{}]", sized(size),
                         with(fmt::format("min(max({}, 0), {})", index, length() - 1)));
    return fmt::format("Y[{}] = X[{}{}]", sized(size), with(index), promised ? "" : " else 1");
  }

  std::string function() {
    const std::string x = element();
    std::string value;
    if (real()) {
      value = fmt::format(
          fmt::runtime(pick({"sin({0}) + cos({0})", "tan(min(max({0}, -1), 1))", "round({0} * 3)",
                             "sign({0}) * log1p(abs({0}))", "expm1(min({0}, 2))", "floor({0})",
                             "select(isnan({0}) || isinf({0}), 0.5, {0} * 2)", "sigmoid({0})",
                             "sqrt(abs({0}))", "exp(-abs({0}))", "erf({0})"})),
          x);
    } else {
      value =
          fmt::format(fmt::runtime(pick({"~{0} & 7 | {0} ^ 3", "{0} << 2", "{0} >> 1", "{0} << {0}",
                                         "{0} * 5 >> {0}", "sign({0}) << 3", "abs({0}) % 7",
                                         "{0} / 3 - {0}", "select(({0} & 1) == 0, {0}, 1)"})),
                      x);
    }
    return fmt::format("Y[{}] = {}", joined(iters_), value);
  }

  std::string cast() {
    const std::string to =
        pick({"i8", "u8", "i16", "u16", "i32", "u32", "i64", "f16", "bf16", "f32", "f64", "bool"});
    return fmt::format("Y[{}] = {}({}{})", joined(iters_), to, element(), real() ? " * 3" : "");
  }

  // Sums of products of several factors.
  std::string product() {
    const std::int64_t k = rng_.between(1, 7), l = rng_.between(1, 5);
    const std::string left = with("l"), t = type();
    head_ += fmt::format("A: {0}[{1},{2}]; B: {0}[{2},{3}]; ", t, length(), k, l);
    const std::string over = at(), x = element();
    const std::string gate = real() && coin() ? "sigmoid(" : "(";
    switch (rng_.below(4)) {
      case 0:
        return fmt::format(
            "Y[{}] = {}", left,
            tamed(fmt::format("sum({0},k) {1} * {2}A[{0},k]) * B[k,l]", over, x, gate)));
      case 1:
        return fmt::format(
            "g: {}[{}]; Y[{}] = {}", t, l, left,
            tamed(fmt::format("sum({0},k) {1} * A[{0},k] * B[k,l] * {2}g[l])", over, x, gate)));
      case 2:
        return fmt::format("Y[{}] = {} + {}", left,
                           tamed(fmt::format("sum({0},k) {1} * A[{0},k] * B[k,l]", over, x)),
                           tamed("sum(q) B[q,l]"));
      default:
        return fmt::format(
            "Y[{}] = {}", left,
            tamed(fmt::format("sum({0},k,m) {1} * A[{0},k] * B[k,m] * B[k,l]", over, x)));
    }
  }

  // The extent follows from the reads.
  std::string window() {
    if (length() < 3) return reduction();
    const std::string op = pick({"max", "min", "sum"});
    if (coin())
      return fmt::format("Y[{}] = {} - X[{}]", joined(iters_), element(), with(at() + " + 2"));
    return fmt::format("Y[{}] = {}", joined(iters_),
                       tamed(fmt::format("{}(s:2) X[{}]", op, with(at() + " + s"))));
  }

  std::string reduction() {
    std::vector<std::string> kept = iters_;
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis_));
    const std::string left = kept.empty() ? "one:1" : joined(kept);
    return fmt::format("Y[{}] = {}", left,
                       tamed(fmt::format("{}({}) {}", pick({"max", "sum"}), at(), element())));
  }

  std::string padded() {
    if (coin(0.3)) return reduction();
    const std::int64_t by = rng_.between(-2, 2);
    return fmt::format("Y[{}] = X[{} else 2] + {}", sized(length()),
                       with(fmt::format("{} + {}", at(), by)), element());
  }

  // What was written tells where to read.
  std::string as_index() {
    if (shape_.size() > 3) return cast();
    head_ += "T: f32[7,2]; ";
    const std::string x = real() ? fmt::format("i32({} * 2)", element()) : element();
    const bool open = coin();
    return fmt::format("Y[{},u] = T[{},u{}]", joined(iters_),
                       open ? x : fmt::format("min(max({}, 0), 6)", x), open ? " else -1" : "");
  }

  std::vector<std::int64_t> shape_;
  Dtype dtype_;
  Rng& rng_;
  std::vector<std::string> iters_;
  std::size_t axis_ = 0;
  std::string head_;
};

te::Composition random_chain(Rng& rng, const RandomWorkloadOptions& options) {
  te::Composition whole;
  whole.parts.push_back(random_workload(rng, options));
  const auto depth = static_cast<int>(rng.between(2, kDeepest));
  for (int part = 1; part < depth; ++part) {
    const te::Workload& before = whole.parts.back();
    const auto outputs = before.outputs();
    const te::Tensor& taken =
        before.tensors[static_cast<std::size_t>(outputs[rng.below(outputs.size())])];
    if (!taken.border_shape.empty()) break;
    const std::string text = Follower(taken, rng).text();
    auto follower = te::parse_workload(text);
    LATHE_CHECK(follower.has_value(), "{}\n{}", follower ? "" : follower.error().text(), text);
    whole.edges.push_back({{part - 1, taken.name}, {part, "X"}});
    whole.parts.push_back(*std::move(follower));
  }
  return whole;
}

}  // namespace

te::Workload composed_workload(Rng& rng, const RandomWorkloadOptions& options) {
  for (;;) {
    auto made = te::compose(random_chain(rng, options));
    LATHE_CHECK(made.has_value(), "{}", made ? "" : made.error().text());
    if (iterations(made->workload) <= static_cast<double>(options.max_iterations))
      return std::move(made->workload);
  }
}

}  // namespace lathe
