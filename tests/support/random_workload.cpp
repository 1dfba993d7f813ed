#include "support/random_workload.h"

#include <array>
#include <string>

#include "compiler/te/parse.h"
#include "support/lookup_workload.h"
#include "support/recurrent_workload.h"
#include "support/staged_workload.h"

namespace lathe {
namespace {

constexpr double kStaged = 0.4;

class Generator {
 public:
  Generator(Rng& rng, const RandomWorkloadOptions& options) : rng_(rng), options_(options) {}

  std::string text() {
    real_ = true;
    type_ = "f32";
    if (options_.dtypes) {
      pick_type();
      if (coin(0.08)) return masks();
      if (coin(0.08)) return quantized();
    }
    if (coin(0.15)) return lookup_text(rng_, type_);
    using Form = std::string (Generator::*)();
    static constexpr std::array<Form, 15> kForms = {
        &Generator::scan,         &Generator::scan,
        &Generator::matmul,       &Generator::matmul,
        &Generator::batch_matmul, &Generator::conv2d,
        &Generator::conv2d,       &Generator::conv1d,
        &Generator::pooling,      &Generator::row_reduction,
        &Generator::softmax,      &Generator::elementwise,
        &Generator::moved_copy,   &Generator::constant_weights,
        &Generator::two_outputs};
    return (this->*kForms[rng_.below(kForms.size())])();
  }

 private:
  void pick_type() {
    static constexpr std::array<const char*, 15> kTypes = {"f32",  "f32", "f32", "f64", "f16",
                                                           "bf16", "i8",  "u8",  "i32", "i64",
                                                           "f16",  "i8",  "i16", "u16", "u32"};
    type_ = kTypes[rng_.below(kTypes.size())];
    real_ = type_[0] != 'i' && type_[0] != 'u';
  }

  std::int64_t size(std::int64_t largest = 17) {
    static constexpr std::array<std::int64_t, 12> kSizes = {1, 2,  3,  4,  5,  7,
                                                            8, 11, 13, 16, 17, 31};
    for (;;)
      if (const std::int64_t s = kSizes[rng_.below(kSizes.size())]; s <= largest) return s;
  }
  bool coin(double p = 0.5) { return rng_.chance(p); }
  std::string pick(std::initializer_list<const char*> options) {
    return options.begin()[rng_.below(options.size())];
  }

  std::string tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                     bool constant = false) {
    return fmt::format("{}{}: {}[{}]\n", constant ? "const " : "", name, type_,
                       fmt::join(shape, ","));
  }
  std::string constant() {
    return real_ ? pick({"0.5", "2", "-1.25", "0.1"}) : pick({"2", "3", "1"});
  }

  // The sum, perhaps with an epilogue; `index` and `channel` are the iterators of the output. Extra
  // inputs are declared in front.
  std::string with_epilogue(std::string head, const std::string& left, const std::string& sum,
                            const std::string& index, const std::vector<std::int64_t>& shape,
                            const std::string& channel, std::int64_t channels) {
    if (coin(0.4)) return head + left + " = " + sum + "\n";
    std::string value = sum;
    if (coin()) {
      head += tensor("bias", {channels}, coin());
      value += " + bias[" + channel + "]";
    }
    if (coin(0.3)) {
      head += tensor("res", shape);
      value += " + res[" + index + "]";
    }
    const int activation = static_cast<int>(rng_.below(real_ ? 5 : 3));
    if (activation == 1) value = "relu(" + value + ")";
    if (activation == 2) value = "min(max(" + value + ", 0), 6)";
    if (activation == 3) value = "tanh(" + value + ")";
    if (activation == 4) value = "0.5 * (" + value + ")";
    return head + left + " = " + value + "\n";
  }

  std::string matmul() {
    const std::int64_t m = size(31), n = size(31), k = size(31);
    const bool ta = coin(), tb = coin();
    const std::string head = tensor("A", ta ? std::vector{k, m} : std::vector{m, k}) +
                             tensor("B", tb ? std::vector{n, k} : std::vector{k, n}, coin());
    return with_epilogue(
        head, "C[i,j]", fmt::format("sum(k) A[{}] * B[{}]", ta ? "k,i" : "i,k", tb ? "j,k" : "k,j"),
        "i,j", {m, n}, "j", n);
  }

  std::string batch_matmul() {
    const std::int64_t b = size(5), m = size(13), n = size(13), k = size(17);
    const bool ta = coin(), tb = coin();
    const std::string head = tensor("A", ta ? std::vector{b, k, m} : std::vector{b, m, k}) +
                             tensor("B", tb ? std::vector{b, n, k} : std::vector{b, k, n});
    return with_epilogue(
        head, "C[b,i,j]",
        fmt::format("sum(k) A[b,{}] * B[b,{}]", ta ? "k,i" : "i,k", tb ? "j,k" : "k,j"), "b,i,j",
        {b, m, n}, "j", n);
  }

  static std::string scaled(const std::string& iter, std::int64_t by) {
    return by == 1 ? iter : fmt::format("{}*{}", by, iter);
  }
  static std::string shifted(const std::string& index, std::int64_t by) {
    return by == 0 ? index : fmt::format("{} - {}", index, by);
  }

  // One axis with a window: input size, kernel, stride, dilation, padding, output size.
  struct Window {
    std::int64_t in, kernel, stride, dilation, pad, out;
  };
  Window window(std::int64_t largest) {
    for (;;) {
      Window w{size(largest),
               std::array<std::int64_t, 4>{1, 2, 3, 5}[rng_.below(4)],
               coin(0.7) ? 1 : rng_.between(2, 3),
               coin(0.75) ? 1 : 2,
               0,
               0};
      if (coin(0.6)) w.pad = rng_.between(0, w.kernel);
      const std::int64_t room = w.in + 2 * w.pad - (w.dilation * (w.kernel - 1) + 1);
      if (room < 0) continue;
      w.out = room / w.stride + 1;
      return w;
    }
  }
  static std::string window_index(const Window& w, const std::string& out, const std::string& tap) {
    return shifted(scaled(out, w.stride) + " + " + scaled(tap, w.dilation), w.pad);
  }

  std::string conv2d() {
    const Window y = window(11), x = window(13);
    const std::string pad = y.pad + x.pad > 0 ? " else 0" : "";
    const std::string place = window_index(y, "y", "r") + ", " + window_index(x, "x", "s") + pad;
    const std::int64_t n = coin(0.8) ? 1 : 2;
    std::string head, left, sum, index;
    std::int64_t channels = 0;
    if (coin(0.2)) {  // depthwise
      channels = size(8);
      head = tensor("X", {n, channels, y.in, x.in}) +
             tensor("W", {channels, y.kernel, x.kernel}, coin(0.8));
      left = fmt::format("Y[n,o,y:{},x:{}]", y.out, x.out);
      sum = fmt::format("sum(r,s) X[n,o,{}] * W[o,r,s]", place);
      return with_epilogue(head, left, sum, "n,o,y,x", {n, channels, y.out, x.out}, "o", channels);
    }
    const std::int64_t groups = coin(0.8) ? 1 : 2, ic = size(5), oc = size(7);
    channels = oc;
    if (groups == 1) {
      head =
          tensor("X", {n, ic, y.in, x.in}) + tensor("W", {oc, ic, y.kernel, x.kernel}, coin(0.8));
      left = fmt::format("Y[n,o,y:{},x:{}]", y.out, x.out);
      sum = fmt::format("sum(c,r,s) X[n,c,{}] * W[o,c,r,s]", place);
      return with_epilogue(head, left, sum, "n,o,y,x", {n, oc, y.out, x.out}, "o", oc);
    }
    head = tensor("X", {n, groups * ic, y.in, x.in}) +
           tensor("W", {groups * oc, ic, y.kernel, x.kernel}, coin(0.8));
    return head + fmt::format(
                      "Y[n,g:{0},o:{1},y:{2},x:{3}] = sum(c,r,s) X[n,{4}*g + c,{5}] * W[{1}*g + "
                      "o,c,r,s]\n",
                      groups, oc, y.out, x.out, ic, place);
  }

  std::string conv1d() {
    const Window w = window(31);
    const std::int64_t oc = size(7);
    const std::string head = tensor("X", {w.in}) + tensor("W", {oc, w.kernel}, coin());
    return with_epilogue(head, fmt::format("Y[o,x:{}]", w.out),
                         fmt::format("sum(s) X[{}{}] * W[o,s]", window_index(w, "x", "s"),
                                     w.pad > 0 ? " else 0" : ""),
                         "o,x", {oc, w.out}, "o", oc);
  }

  std::string pooling() {
    const Window y = window(13), x = window(11);
    const std::int64_t c = size(7);
    const bool largest = coin(0.7);
    const std::string pad = y.pad + x.pad == 0 ? "" : largest && real_ ? " else -inf" : " else 0";
    const std::string read =
        fmt::format("X[c,{}, {}{}]", window_index(y, "y", "r"), window_index(x, "x", "s"), pad);
    const std::string value =
        largest ? fmt::format("max(r:{},s:{}) {}", y.kernel, x.kernel, read)
        : real_ ? fmt::format("0.25 * (sum(r:{},s:{}) {})", y.kernel, x.kernel, read)
                : fmt::format("sum(r:{},s:{}) {}", y.kernel, x.kernel, read);
    return tensor("X", {c, y.in, x.in}) + fmt::format("Y[c,y:{},x:{}] = {}\n", y.out, x.out, value);
  }

  std::string row_reduction() {
    const std::int64_t m = size(31), n = size(31);
    const std::string op = pick({"sum", "max", "min"}),
                      second = real_ ? "abs(A[i,j] - 0.5)" : "abs(A[i,j])";
    const std::string body = coin() ? "A[i,j]" : coin() ? "(A[i,j] * A[i,j])" : second;
    if (coin(0.2)) return tensor("A", {m, n}) + fmt::format("S[one:1] = {}(i,j) {}\n", op, body);
    if (coin(0.2) && real_) return tensor("A", {m, size(5)}) + "P[i] = prod(j) (1.5 * A[i,j])\n";
    return tensor("A", {m, n}) + (coin() ? fmt::format("R[i] = {}(j) {}\n", op, body)
                                         : fmt::format("R[j] = {}(i) {}\n", op, body));
  }

  std::string softmax() {
    if (!real_) return row_reduction();
    return tensor("X", {size(13), size(31)}) +
           "E[i,j] = exp(X[i,j] - (max(k) X[i,k]))\n"
           "Y[i,j] = E[i,j] / (sum(k) E[i,k])\n";
  }

  std::string elementwise() {
    const std::int64_t m = size(31), n = size(31);
    const std::string head = tensor("A", {m, n}) + tensor("B", {n});
    std::string first = "A[i,j] * " + constant() + " + B[j]", second;
    if (real_) {
      const std::string f = pick({"exp", "tanh", "erf", "sigmoid", "floor", "abs", "relu", "sin",
                                  "cos", "expm1", "round", "sign"});
      second =
          pick({"sqrt(abs(T[i,j]) + 1)", "log(abs(T[i,j]) + 2)", "rsqrt(T[i,j] * T[i,j] + 0.5)",
                "pow(abs(T[i,j]) + 0.5, 1.5)", "T[i,j] / (abs(A[i,j]) + 1)", "max(T[i,j], A[i,j])",
                "log1p(abs(T[i,j])) * cos(100 * A[i,j])", "tan(min(max(T[i,j], -1), 1))",
                "select(isnan(T[i,j]) || isinf(A[i,j]), 0.5, sin(T[i,j] * 10))"});
      first = f + "(" + first + ")";
    } else {
      second =
          pick({"T[i,j] / 3 + A[i,j] % 5", "max(T[i,j], A[i,j]) - B[j]", "abs(T[i,j] - A[i,j])",
                "-T[i,j]", "~T[i,j] & 7 | A[i,j] ^ B[j]", "T[i,j] << A[i,j] + 1",
                "T[i,j] * 5 >> A[i,j] * 3", "sign(T[i,j] - 2) << 2", "(T[i,j] ^ A[i,j]) >> 1"});
    }
    if (coin(0.3))
      second = fmt::format("select({} && A[i,j] > {}, {}, T[i,j])", pick({"i < j", "(i & 1) == 0"}),
                           constant(), second);
    if (coin(0.3)) second = real_ ? second + " + f32(2*i + 1) * 0.01" : second;
    if (type_ != "f32" && second.find("f32(") != std::string::npos) second = "T[i,j]";
    return head + "T[i,j] = " + first + "\nY[i,j] = " + second + "\n";
  }

  std::string moved_copy() {
    const std::int64_t m = size(17), n = size(17);
    const std::string head = tensor("A", {m, n});
    switch (rng_.below(4)) {
      case 0: return head + "T[j,i] = A[i,j]\n";
      case 1: return head + fmt::format("R[i,j] = A[{} - i,j] + A[i,{} - j]\n", m - 1, n - 1);
      case 2: return head + fmt::format("P[i:{},j:{}] = A[i - 1,j - 2 else 1] * 2\n", m + 2, n + 3);
      default:
        return head + "G: f32[3] = {0.25,0.5,0.25}\n" +
               fmt::format("S[i,j:{}] = sum(s) f32(A[i,j + s - 1 else 0]) * G[s]\n", n);
    }
  }

  // A weight transform that prepare() runs once.
  std::string constant_weights() {
    const std::int64_t m = size(13), n = size(13), k = size(17);
    std::string scale = tensor("scale", {n}, true);
    return tensor("A", {m, k}) + tensor("W", {n, k}, true) + scale +
           "V[j,k] = W[j,k] * scale[j]\n" + "C[i,j] = relu(sum(k) A[i,k] * V[j,k])\n";
  }

  std::string two_outputs() {
    const std::int64_t m = size(13), n = size(17), k = size(13);
    return tensor("A", {m, k}) + tensor("B", {k, n}) +
           (coin() ? fmt::format("output C: {}[{},{}]\n", wide(), m, n) : "") +
           "C[i,j] = sum(k) A[i,k] * B[k,j]\n" + "D[i,j] = relu(C[i,j])\n" +
           "R[i] = max(j) C[i,j]\n";
  }
  // Elements that follow from those before them along an axis, alone or between other stages.
  std::string scan() {
    const std::int64_t m = size(17), n = size(31), o = coin(0.25) ? size(5) : 0;
    std::vector<std::int64_t> shape = {m, n};
    std::vector<std::string> iters = {"i", "j"};
    if (o > 0) shape.insert(shape.begin(), o), iters.insert(iters.begin(), "h");
    const std::size_t axis = rng_.below(shape.size());
    const std::string at = fmt::format("{}", fmt::join(iters, ","));
    const bool backward = coin(0.4);
    const auto own = [&](std::int64_t far, const std::string& first) {
      std::vector<std::string> index = iters;
      index[axis] += fmt::format(" {} {}", backward ? "+" : "-", far);
      return fmt::format("Y[{} else {}]", fmt::join(index, ","), first);
    };
    std::string text = tensor("A", shape);
    std::string x = fmt::format("A[{}]", at);
    if (coin(0.3)) {
      text += fmt::format("T[{}] = {} * {} - {}\n", at, x, constant(), x);
      x = fmt::format("T[{}]", at);
    }
    const std::string c = real_ ? pick({"0.5", "-0.75", "0.25"}) : "1";
    switch (rng_.below(7)) {
      case 0:
        text += fmt::format("Y[{}] = max({}, {})\n", at,
                            own(1, real_             ? "-inf"
                                   : type_[0] == 'i' ? "-3"
                                                     : "0"),
                            x);
        break;
      case 1: text += fmt::format("Y[{}] = min({}, {})\n", at, x, own(1, "2")); break;
      case 2: text += fmt::format("Y[{}] = {} * {} + {}\n", at, own(1, "1"), c, x); break;
      case 3:
        text += fmt::format("Y[{}] = {} - {} * {} + {}\n", at, x, own(2, "2"), c, own(1, "0"));
        break;
      case 4:
        if (real_) {
          text += fmt::format("Y[{}] = {} * {}\n", at, x, own(1, "1"));
          break;
        }
        [[fallthrough]];
      case 5:
        text += tensor("B", {shape.back(), 3}) + fmt::format("Y[{}] = {} + (sum(k) B[{},k]) * {}\n",
                                                             at, own(1, "0"), iters.back(), x);
        break;
      default:
        text += fmt::format("Y[{0}] = {1} + {2}\n", at, own(1, "0"),
                            coin(0.3) ? fmt::format("select({} < 3, {}, 1)", iters[axis], x) : x);
    }
    if (coin(0.3)) text += fmt::format("Z[{0}] = max(Y[{0}], 0)\n", at);
    if (coin(0.2))
      text += fmt::format("R[{}] = max({}) Y[{}]\n", iters[0],
                          fmt::join(std::vector(iters.begin() + 1, iters.end()), ","), at);
    return text;
  }

  // Bools as intermediates, perhaps as output, and as operand of a cast.
  std::string masks() {
    const std::int64_t m = size(13), n = size(31);
    return fmt::format("A: f32[{0},{1}]\nB: u8[{1}]\n", m, n) +
           (coin() ? fmt::format("output M: bool[{},{}]\n", m, n) : "") +
           "M[i,j] = A[i,j] > 0.25 || B[j] == 3\n"
           "N[i,j] = select(M[i,j] && !(i == j), A[i,j], f32(B[j]))\n"
           "Q[i] = sum(j) i32(M[i,j])\n";
  }

  // A product of integers of two types, and its way back to eight bits.
  std::string quantized() {
    const std::int64_t m = size(13), n = size(13), k = size(31);
    return fmt::format("X: u8[{},{}]\nconst W: i8[{},{}]\n", m, k, n, k) +
           "Y[i,j] = sum(k) X[i,k] * W[j,k]\n"
           "Z[i,j] = i8(min(max(f32(Y[i,j]) * 0.03, -128), 127))\n";
  }

  // The type of a sum over this type.
  std::string wide() const {
    return type_ == "i8" || type_ == "u8" || type_ == "i16" || type_ == "u16" ? "i32" : type_;
  }

  Rng& rng_;
  RandomWorkloadOptions options_;
  std::string type_;
  bool real_ = true;
};

}  // namespace

double iterations(const te::Workload& workload) {
  double total = 0;
  for (const te::Stage& stage : workload.stages) {
    double n = 1;
    for (const te::Iterator& iter : stage.iters) n *= static_cast<double>(iter.extent);
    total += n;
  }
  return total;
}

namespace {

// What a text may say besides: a level of numerics, and ranges of some inputs.
void promise_something(te::Workload& workload, Rng& rng) {
  using te::Numerics;
  constexpr Numerics kLevels[] = {Numerics::kComponentwise, Numerics::kLocal, Numerics::kNormwise};
  if (rng.chance(0.2)) workload.contract.numerics = kLevels[rng.below(3)];
  for (const int input : workload.inputs()) {
    te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(input)];
    if (tensor.dtype == Dtype::kBool || tensor.range || !rng.chance(0.05)) continue;
    const auto low = static_cast<double>(rng.below(4));
    tensor.range = te::InputRange{low, low + static_cast<double>(rng.below(3))};
  }
}

}  // namespace

te::Workload random_workload(Rng& rng, const RandomWorkloadOptions& options) {
  for (;;) {
    const bool recurrent = options.recurrences > 0 && rng.chance(options.recurrences);
    const std::string text = recurrent             ? recurrent_text(rng, options.dtypes)
                             : rng.chance(kStaged) ? staged_text(rng, options.dtypes)
                                                   : Generator(rng, options).text();
    auto workload = te::parse_workload(text);
    LATHE_CHECK(workload.has_value(), "{}\n{}", workload ? "" : workload.error().text(), text);
    if (iterations(*workload) > static_cast<double>(options.max_iterations)) continue;
    promise_something(*workload, rng);
    return *std::move(workload);
  }
}

}  // namespace lathe
