#include "compiler/ops/top_k.h"

#include <cmath>

#include "compiler/ops/lookup.h"
#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

// The elements of a row are shared among classes: number G*q + b is the q-th of class b. A
// recurrence over the k picks keeps the best element that each class has left, its key and its
// place. A pick is the best of these; only the class that it was taken from then looks for its next
// one. With as many classes as a class has elements, a pick takes some 4 sqrt(n) comparisons.
//
// Keys are such that the largest comes first, also of the smallest elements. What is beyond the
// end of the row has the lowest key and a place behind all others, so that nothing is picked of it.
class TopK {
 public:
  TopK(const std::vector<std::int64_t>& shape, std::size_t axis, std::int64_t k, Dtype dtype)
      : shape_(shape), axis_(axis), size_(shape[axis]), k_(k), dtype_(dtype) {
    classes_ = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(size_))));
    if (classes_ > 8) classes_ = (classes_ + 15) / 16 * 16;
    length_ = (size_ + classes_ - 1) / classes_;
  }

  std::string text(bool largest) const {
    const std::string picked = fmt::format("P[{}]", row("t", "", "0"));
    return declarations() + first_of_classes(largest) + picks() +
           fmt::format("Y[{0}] = X[{1}]\nI[{0}] = i64({2})\n", element("t"),
                       element(fmt::format("min(max({}, 0), {})", picked, size_ - 1)), picked);
  }

 private:
  bool wide() const { return dtype_ == Dtype::kI64 || dtype_ == Dtype::kU32; }
  Dtype key_type() const {
    if (!is_float(dtype_)) return wide() ? Dtype::kI64 : Dtype::kI32;
    return dtype_ == Dtype::kF64 ? dtype_ : Dtype::kF32;
  }
  std::string lowest() const {
    if (is_float(dtype_)) return "-inf";
    return wide() ? "-4503599627370496 * 2048" : "-2147483648";
  }

  // An index of X with something in place of the axis.
  std::string element(const std::string& along) const {
    std::vector<std::string> out;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      out.push_back(d == axis_ ? along : fmt::format("i{}", d));
    return fmt::format("{}", fmt::join(out, ","));
  }
  // An index of what there is for each row, with something before and behind: "t,i0,i2,b". A single
  // row has an iterator, too.
  std::string row(const std::string& before, const std::string& behind = "",
                  const char* single = "r") const {
    std::vector<std::string> out;
    if (!before.empty()) out.push_back(before);
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (d != axis_) out.push_back(fmt::format("i{}", d));
    if (shape_.size() == 1) out.emplace_back(single);
    if (!behind.empty()) out.push_back(behind);
    return fmt::format("{}", fmt::join(out, ","));
  }
  std::vector<std::int64_t> rows() const {
    std::vector<std::int64_t> out;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (d != axis_) out.push_back(shape_[d]);
    return out.empty() ? std::vector<std::int64_t>{1} : out;
  }
  // An index of what each class has left before a pick. Where there are many rows, they are the
  // last dimension, along which lanes go.
  bool rows_last() const { return rows().back() >= 8; }
  std::string state(const std::string& pick) const {
    return rows_last() ? row(pick + ",b") : row(pick, "b");
  }
  std::vector<std::int64_t> sizes(bool classes) const {
    std::vector<std::int64_t> out = rows();
    if (classes) out.insert(rows_last() ? out.begin() : out.end(), classes_);
    out.insert(out.begin(), k_);
    return out;
  }

  std::string declarations() const {
    const Dtype key = key_type(), place = Dtype::kI32;
    std::vector<std::int64_t> output = shape_;
    output[axis_] = k_;
    std::string out = typed(shaped("X", shape_), dtype_) + "\n";
    out += typed("output " + shaped("Y", output), dtype_) + "\n";
    out += typed("output " + shaped("I", output), Dtype::kI64) + "\n";
    for (const char* name : {"M", "V"}) out += typed(shaped(name, sizes(false)), key) + "\n";
    for (const char* name : {"N", "P"}) out += typed(shaped(name, sizes(false)), place) + "\n";
    out += typed(shaped("C", sizes(true)), key) + "\n";
    return out + typed(shaped("D", sizes(true)), place) + "\n";
  }

  std::string first_of_classes(bool largest) const {
    const std::string here = fmt::format("{}*q + b", classes_),
                      x = fmt::format("X[{} else 0]", element(here)),
                      key = std::string(name_of(key_type())) + "(" + x + ")";
    std::string value = largest ? key : is_float(dtype_) ? "-" + key : "~" + key;
    if (is_float(dtype_))
      value = fmt::format("select({0} != {0}, {1}inf, {2})", x, largest ? "" : "-", value);
    const std::string all = row("", fmt::format("q:{},b:{}", length_, classes_), "r:1"),
                      one = row("", "q,b"), best = row("", "b");
    return fmt::format("K[{}] = select({} < {}, {}, {})\n", all, here, size_, value, lowest()) +
           fmt::format("F[{}] = max(q) K[{}]\n", best, one) +
           fmt::format("G[{0}] = min(q) select(K[{1}] == F[{0}], i32(q), {2})\n", best, one,
                       length_);
  }

  std::string picks() const {
    const std::string t = fmt::format("t:{}", k_), now = row("t"), before = row("t-1") + " else 0",
                      sized = row(t), last = fmt::format("P[{}]", before),
                      from = fmt::format("{} % {}", last, classes_);
    const std::string left =
        fmt::format("K[{}]", row("", fmt::format("q,min(max({}, 0), {})", from, classes_ - 1)));
    // What of the class comes after the last pick.
    const std::string after = fmt::format("{0} < V[{1}] || {0} == V[{1}] && i32(q) > {2} / {3}",
                                          left, before, last, classes_);
    const std::string b = state("t"), sized_b = state(t), kept = state("t-1") + " else 0",
                      first = row("", "b");
    std::string out;
    out += fmt::format("M[{}] = max(q) select({}, {}, {})\n", sized, after, left, lowest());
    out += fmt::format("N[{}] = min(q) select(({}) && {} == M[{}], i32(q), {})\n", sized, after,
                       left, now, length_);
    out += fmt::format("C[{}] = select(t == 0, F[{}], select({} == i32(b), M[{}], C[{}]))\n",
                       sized_b, first, from, now, kept);
    out += fmt::format(
        "D[{0}] = select(t == 0, {1}*G[{2}], select({3} == i32(b), {1}*N[{4}], D[{5}] - i32(b))) + "
        "i32(b)\n",
        sized_b, classes_, first, from, now, kept);
    out += fmt::format("V[{}] = max(b) C[{}]\n", sized, b);
    return out + fmt::format("P[{}] = min(b) select(C[{}] == V[{}], D[{}], {})\n", sized, b, now, b,
                             classes_ * (length_ + 1));
  }

  std::vector<std::int64_t> shape_;
  std::size_t axis_;
  std::int64_t size_, k_, classes_, length_;
  Dtype dtype_;
};

Result<std::vector<Algorithm>> build_top_k(const Values& values) {
  const Dtype dtype = LATHE_TRY(dtype_of(values));
  const auto& shape = values.numbers("input");
  const std::size_t axis = LATHE_TRY(one_axis(values, "axis", shape));
  const std::int64_t k = LATHE_TRY(values.size("k"));
  if (k > shape[axis])
    return Values::error("k", "{} elements are asked for; dimension {} of [{}] has {}", k, axis,
                         fmt::join(shape, ","), shape[axis]);
  if (shape[axis] > std::int64_t{1} << 30)
    return Values::error("input", "dimension {} of [{}] has more than 2^30 elements", axis,
                         fmt::join(shape, ","));
  return direct(parsed("top_k", TopK(shape, axis, k, dtype).text(!values.flag("smallest"))));
}

}  // namespace

Operator top_k() {
  return {"top_k",
          "the largest elements of X along a dimension in order, and their places",
          {{Kind::kDims, "input", "", "shape of the input"},
           {Kind::kInt, "k", "", "how many elements"},
           {Kind::kAxes, "axis", "-1", "the dimension along which they are chosen; -1 is the last"},
           {Kind::kFlag, "smallest", "false", "the smallest elements, the smallest one first"},
           dtype_parameter()},
          build_top_k};
}

}  // namespace lathe::ops
