#include "support/staged_workload.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe {
namespace {

constexpr int kMostStages = 5;

class Chain {
 public:
  Chain(Rng& rng, bool dtypes) : rng_(rng) {
    static constexpr std::array<const char*, 13> kTypes = {
        "f32", "f32", "f64", "f16", "bf16", "i32", "i64", "i8", "u8", "f32", "i16", "u16", "u32"};
    type_ = dtypes ? kTypes[rng_.below(kTypes.size())] : "f32";
    real_ = type_[0] == 'f' || type_[0] == 'b';
  }

  std::string text() {
    const int stages = static_cast<int>(rng_.between(2, kMostStages));
    for (int i = 0; i < stages; ++i) add_stage();
    return head_ + body_;
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
  };

  bool coin(double p = 0.5) { return rng_.chance(p); }
  std::int64_t size() {
    static constexpr std::array<std::int64_t, 12> kSizes = {1,  2,  3,  5,  7,  8,
                                                            11, 13, 16, 17, 19, 33};
    return kSizes[rng_.below(kSizes.size())];
  }
  std::string pick(std::initializer_list<const char*> options) {
    return options.begin()[rng_.below(options.size())];
  }
  std::string fresh(const char* stem) { return stem + std::to_string(next_++); }

  const Tensor& keep(Tensor tensor) { return pool_.emplace_back(std::move(tensor)), pool_.back(); }

  Tensor input(const std::vector<std::int64_t>& shape) {
    Tensor t{fresh("A"), shape};
    head_ += fmt::format("{}{}: {}[{}]\n", coin(0.25) ? "const " : "", t.name, type_,
                         fmt::join(shape, ","));
    return keep(std::move(t));
  }

  // A random tensor of this rank, later ones more likely; an input if there is none.
  Tensor any(std::size_t rank) {
    std::vector<const Tensor*> fitting;
    for (const Tensor& t : pool_)
      if (t.shape.size() == rank) fitting.push_back(&t);
    if (fitting.empty())
      return input(rank == 1 ? std::vector{size()} : std::vector{size(), size()});
    const std::size_t back = std::min(rng_.below(fitting.size()), rng_.below(fitting.size()));
    return *fitting[fitting.size() - 1 - back];
  }
  Tensor shaped(const std::vector<std::int64_t>& shape) {
    std::vector<const Tensor*> fitting;
    for (const Tensor& t : pool_)
      if (t.shape == shape) fitting.push_back(&t);
    if (fitting.empty() || coin(0.2)) return input(shape);
    return *fitting[rng_.below(fitting.size())];
  }

  void stage(const Tensor& result, const std::string& left, const std::string& value) {
    body_ += fmt::format("{}[{}] = {}\n", result.name, left, value);
    keep(result);
  }

  void add_stage() {
    using Form = void (Chain::*)();
    static constexpr std::array<Form, 13> kForms = {
        &Chain::map,       &Chain::map,       &Chain::padded_map, &Chain::padded_map,
        &Chain::transpose, &Chain::reduction, &Chain::reduction,  &Chain::normalise,
        &Chain::product,   &Chain::product,   &Chain::window_row, &Chain::window,
        &Chain::broadcast};
    (this->*kForms[rng_.below(kForms.size())])();
  }

  // Keeps values within a few units, so that chains neither overflow nor vanish.
  std::string tamed(const std::string& value) {
    if (!real_) return coin() ? value : fmt::format("max({}, 1)", value);
    switch (rng_.below(7)) {
      case 0: return fmt::format("tanh({})", value);
      case 5: return fmt::format("sin({})", value);
      case 1: return fmt::format("relu({}) * 0.5", value);
      case 2: return fmt::format("min(max({}, -2), 3)", value);
      case 3: return fmt::format("sigmoid({})", value);
      case 4: return fmt::format("abs({}) + 0.25", value);
      default: return value;
    }
  }
  // The same for a sum: sums of eight-bit types have a wider type.
  std::string tame_sum(const std::string& value) {
    return real_ ? fmt::format("tanh({})", value) : fmt::format("{}({})", type_, value);
  }
  std::string pad() {
    return real_ ? pick({"0", "0", "1", "-0.5", "2"}) : pick({"0", "0", "1", "3"});
  }

  void map() {
    const Tensor a = any(2), b = shaped(a.shape);
    const std::string op = pick({"+", "-", "*"});
    stage({fresh("T"), a.shape}, "i,j",
          tamed(fmt::format("{}[i,j] {} {}[i,j]", a.name, op, b.name)));
  }

  // Writes "i - 2", and tells how far the result may reach.
  std::string shifted(const char* iter) {
    const std::int64_t by = rng_.between(-2, 3);
    return by == 0  ? iter
           : by > 0 ? fmt::format("{} - {}", iter, by)
                    : fmt::format("{} + {}", iter, -by);
  }
  void padded_map() {
    const Tensor a = any(2);
    const std::vector<std::int64_t> shape{
        std::max<std::int64_t>(1, a.shape[0] + rng_.between(-2, 4)),
        std::max<std::int64_t>(1, a.shape[1] + rng_.between(-2, 9))};
    const std::string read =
        fmt::format("{}[{},{} else {}]", a.name, shifted("i"), shifted("j"), pad());
    stage({fresh("P"), shape}, fmt::format("i:{},j:{}", shape[0], shape[1]), tamed(read));
  }

  void transpose() {
    const Tensor a = any(2);
    stage({fresh("X"), {a.shape[1], a.shape[0]}}, "j,i", fmt::format("{}[i,j]", a.name));
  }

  void reduction() {
    const Tensor a = any(2);
    const bool rows = coin();
    const std::string op = pick({"sum", "max", "min"});
    const std::string term =
        coin() ? fmt::format("{}[i,j]", a.name) : fmt::format("({0}[i,j] * {0}[i,j])", a.name);
    const std::string left = rows ? "i" : "j", over = rows ? "j" : "i";
    if (coin(0.15))
      return stage({fresh("S"), {1}}, "one:1", tame_sum(fmt::format("({}(i,j) {})", op, term)));
    stage({fresh("R"), {a.shape[rows ? 0 : 1]}}, left,
          tame_sum(fmt::format("({}({}) {})", op, over, term)));
  }

  // Normalises rows or columns by what was reduced of them.
  void normalise() {
    const Tensor a = any(2);
    const std::string n = a.name;
    if (!real_)
      return stage({fresh("N"), a.shape}, "i,j", fmt::format("{0}[i,j] - (max(k) {0}[i,k])", n));
    switch (rng_.below(4)) {
      case 0:
        return stage({fresh("N"), a.shape}, "i,j",
                     fmt::format("{0}[i,j] / (1 + (sum(k) abs({0}[i,k])))", n));
      case 1:
        return stage({fresh("N"), a.shape}, "i,j",
                     fmt::format("{0}[i,j] * rsqrt(0.5 + (sum(k) ({0}[k,j] * {0}[k,j])))", n));
      default: {
        const std::string e = fresh("E");
        stage({e, a.shape}, "i,j", fmt::format("exp({0}[i,j] - (max(k) {0}[i,k]))", n));
        return stage({fresh("N"), a.shape}, "i,j", fmt::format("{0}[i,j] / (sum(k) {0}[i,k])", e));
      }
    }
  }

  void diagonal() {
    const Tensor d{fresh("A"), {size(), size()}};
    head_ += fmt::format("{0}: {1}[{2},{2},{3}]\n", d.name, type_, d.shape[0], d.shape[1]);
    stage({fresh("D"), {d.shape[1]}}, "i", tame_sum(fmt::format("(sum(k) {}[k,k,i])", d.name)));
  }

  void product() {
    if (coin(0.12)) return diagonal();
    const Tensor a = any(2);
    const std::string n = a.name;
    if (coin(0.2))
      return stage({fresh("C"), {a.shape[0], a.shape[0]}}, "i,j",
                   tame_sum(fmt::format("(sum(k) {0}[i,k] * {0}[j,k])", n)));
    const bool transposed = coin();
    const std::int64_t m = size();
    const Tensor b = shaped(transposed ? std::vector{m, a.shape[1]} : std::vector{a.shape[1], m});
    std::string left = fmt::format("{}[i,k]", n);
    std::int64_t rows = a.shape[0];
    std::string declared = "i,j";
    if (coin(0.25)) {
      rows += rng_.between(0, 3);
      left = fmt::format("{}[{},k else 0]", n, shifted("i"));
      declared = fmt::format("i:{},j", rows);
    }
    stage({fresh("C"), {rows, m}}, declared,
          tame_sum(fmt::format("(sum(k) {} * {}[{}])", left, b.name, transposed ? "j,k" : "k,j")));
  }

  void window_row() {
    const Tensor a = any(2);
    const std::int64_t taps = rng_.between(1, 4);
    const std::string op = pick({"sum", "max", "min"});
    const std::string nothing = op == "max" ? "-inf" : "inf";
    const std::string outside = op != "sum" && real_ && coin() ? nothing : pad();
    stage({fresh("W"), a.shape}, fmt::format("i,j:{}", a.shape[1]),
          tame_sum(fmt::format("({}(s:{}) {}[i,j + s - 1 else {}])", op, taps, a.name, outside)));
  }

  void window() {
    const Tensor a = any(2);
    const Tensor g = coin() ? shaped({3, 3}) : input({3, 3});
    const std::int64_t stride = coin(0.7) ? 1 : 2;
    const std::vector<std::int64_t> shape{(a.shape[0] + stride - 1) / stride,
                                          (a.shape[1] + stride - 1) / stride};
    stage({fresh("V"), shape}, fmt::format("i:{},j:{}", shape[0], shape[1]),
          tame_sum(fmt::format("(sum(r,s) {0}[{1}*i + r - 1,{1}*j + s - 1 else 0] * {2}[r,s])",
                               a.name, stride, g.name)));
  }

  void broadcast() {
    const Tensor a = any(2);
    const bool rows = coin();
    const Tensor v = shaped({a.shape[rows ? 0 : 1]});
    stage({fresh("B"), a.shape}, "i,j",
          tamed(fmt::format("{}[i,j] {} {}[{}]", a.name, pick({"+", "-", "*"}), v.name,
                            rows ? "i" : "j")));
  }

  Rng& rng_;
  std::string type_, head_, body_;
  bool real_ = true;
  std::vector<Tensor> pool_;
  int next_ = 0;
};

}  // namespace

std::string staged_text(Rng& rng, bool dtypes) { return Chain(rng, dtypes).text(); }

}  // namespace lathe
