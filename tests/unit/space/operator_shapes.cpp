#include "unit/space/operator_shapes.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace lathe::space {
namespace {

using ops::Arguments;
using Index = std::vector<std::int64_t>;

std::string list(const Index& values) { return fmt::format("{}", fmt::join(values, ",")); }

class Shapes {
 public:
  explicit Shapes(std::uint64_t seed) : rng_(seed) {}

  Arguments arguments(const ops::Operator& op) {
    using Make = Arguments (Shapes::*)();
    static const std::map<std::string, Make> kMakers = {
        {"dense", &Shapes::dense},
        {"einsum", &Shapes::einsum},
        {"conv1d", &Shapes::conv1d},
        {"conv2d", &Shapes::conv2d},
        {"conv3d", &Shapes::conv3d},
        {"conv_transpose1d", &Shapes::transposed1d},
        {"conv_transpose2d", &Shapes::transposed2d},
        {"conv_transpose3d", &Shapes::transposed3d},
        {"max_pool1d", &Shapes::max_pool<1>},
        {"max_pool2d", &Shapes::max_pool<2>},
        {"max_pool3d", &Shapes::max_pool<3>},
        {"avg_pool1d", &Shapes::avg_pool<1>},
        {"avg_pool2d", &Shapes::avg_pool<2>},
        {"avg_pool3d", &Shapes::avg_pool<3>},
        {"global_avg_pool", &Shapes::global_pool},
        {"adaptive_avg_pool2d", &Shapes::adaptive_pool},
        {"adaptive_max_pool2d", &Shapes::adaptive_pool},
        {"resize", &Shapes::resized},
        {"grid_sample", &Shapes::sampled},
        {"softmax", &Shapes::rows},
        {"log_softmax", &Shapes::rows},
        {"logsumexp", &Shapes::log_sum_exp},
        {"layer_norm", &Shapes::layer_norm},
        {"rms_norm", &Shapes::rows},
        {"batch_norm", &Shapes::batch_norm},
        {"group_norm", &Shapes::group_norm},
        {"attention", &Shapes::attention},
        {"rope", &Shapes::rotation},
        {"lstm_cell", &Shapes::cell},
        {"gru_cell", &Shapes::cell},
        {"lstm", &Shapes::peephole_sequence},
        {"gru", &Shapes::reset_sequence},
        {"rnn", &Shapes::plain_sequence},
        {"reduce", &Shapes::reduction},
        {"argmax", &Shapes::extreme_place},
        {"argmin", &Shapes::extreme_place},
        {"top_k", &Shapes::best},
        {"pad", &Shapes::padding},
        {"slice", &Shapes::cut},
        {"concat", &Shapes::concatenation},
        {"one_hot", &Shapes::classes},
        {"gather", &Shapes::slices},
        {"gather_elements", &Shapes::elements},
        {"gather_nd", &Shapes::coordinates},
        {"embedding", &Shapes::looked_up_rows},
        {"scatter_elements", &Shapes::changed_elements},
        {"scatter_nd", &Shapes::changed_places},
        {"cumsum", &Shapes::sum_scan},
        {"cumprod", &Shapes::sum_scan},
        {"cummax", &Shapes::scan},
        {"cummin", &Shapes::scan},
        {"transpose", &Shapes::permutation},
        {"map", &Shapes::function},
    };
    if (op.name == "matmul" || op.name == "batch_matmul") return product(op);
    const auto found = kMakers.find(op.name);
    if (found != kMakers.end()) return (this->*found->second)();
    ADD_FAILURE() << "give " << op.name << " arguments here";
    return {};
  }

 private:
  bool coin(double p = 0.5) { return rng_.chance(p); }
  std::int64_t any(std::initializer_list<std::int64_t> from) {
    return from.begin()[rng_.below(from.size())];
  }
  std::string word(std::initializer_list<const char*> from) {
    return from.begin()[rng_.below(from.size())];
  }
  std::int64_t size() { return any({1, 1, 2, 3, 5, 7, 11, 13, 16, 17, 19, 23, 31, 33}); }
  std::string flag() { return coin() ? "true" : "false"; }

  // A shape of 1 to 4 dimensions.
  Index shape(std::size_t least = 1) {
    Index out = {any({1, 3, 16, 17, 67, 129})};
    const std::size_t rank = least + rng_.below(5 - least);
    while (out.size() < rank) out.push_back(any({1, 2, 3, 5, 7, 16}));
    if (coin()) std::ranges::reverse(out);
    return out;
  }
  // Some dimensions of a shape, at least one.
  Index some_of(const Index& shape) {
    Index out;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (coin()) out.push_back(static_cast<std::int64_t>(d));
    return out.empty() ? Index{-1} : out;
  }

  Arguments product(const ops::Operator& op) {
    Arguments out;
    for (const ops::Parameter& p : op.parameters) {
      if (p.kind == ops::Parameter::Kind::kInt) out[p.name] = std::to_string(size());
      if (p.kind == ops::Parameter::Kind::kFlag && coin()) out[p.name] = "true";
    }
    return out;
  }
  Arguments dense() {
    const std::int64_t in = size();
    Arguments out = {{"input", list({size(), in})}, {"weight", list({size(), in})}};
    if (coin()) out["epilogue"] = "bias,relu";
    return out;
  }
  Arguments einsum() {
    const auto sized = [&](const std::string& subscripts, const std::string& letters) {
      std::string text;
      for (const char c : letters)
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", c, any({1, 2, 3, 5, 7, 16}));
      return Arguments{{"subscripts", subscripts}, {"sizes", text}};
    };
    switch (rng_.below(7)) {
      case 0: return sized("ac,abc->cb", "abc");
      case 1: return sized("ik,kj,jl->il", "ijkl");
      case 2: return sized("efbad,cf->abcde", "abcdef");
      case 3: return sized("ii->i", "i");
      case 4: return sized("bii,ij->bj", "bij");
      case 5: return sized("ab,ab->", "ab");
      default: return sized("i,j->ij", "ij");
    }
  }

  Arguments convolution(std::size_t rank) {
    const std::int64_t groups = coin(0.7) ? 1 : 2, ic = any({1, 2, 3, 5, 16, 17}),
                       oc = any({1, 2, 3, 16, 19});
    Index input = {any({1, 1, 1, 3}), groups * ic}, weight = {groups * oc, ic}, pad;
    for (std::size_t a = 0; a < rank; ++a) {
      const std::int64_t kernel = rank == 3 ? any({1, 2, 3}) : any({1, 1, 2, 3, 5});
      weight.push_back(kernel);
      input.push_back(kernel + (rank == 3 ? any({0, 1, 3}) : any({0, 1, 2, 3, 4, 6, 8})));
      pad.push_back(rng_.between(0, kernel - 1));
    }
    Arguments out{{"input", list(input)},
                  {"weight", list(weight)},
                  {"stride", std::to_string(any({1, 1, 2, 3}))},
                  {"pad", list(pad)},
                  {"groups", std::to_string(groups)}};
    if (coin(0.4)) out["epilogue"] = coin() ? "bias,relu" : "residual";
    return out;
  }
  Arguments conv1d() { return convolution(1); }
  Arguments conv2d() { return convolution(2); }
  Arguments conv3d() { return convolution(3); }

  Arguments transposed(std::size_t rank) {
    const std::int64_t groups = coin(0.7) ? 1 : any({2, 3});
    const std::int64_t ic = groups * any({1, 1, 2, 5, 16}),
                       oc = rank == 3 ? any({1, 2, 5}) : any({1, 1, 2, 3, 17});
    Index input = {any({1, 1, 2}), ic}, weight = {ic, oc}, stride, pad, more, dilation;
    for (std::size_t a = 0; a < rank; ++a) {
      const std::int64_t kernel = rank == 3 ? any({1, 2, 3}) : any({1, 2, 3, 4, 4, 5}),
                         step = any({1, 2, 2, 3, 4});
      input.push_back(rank == 3 ? any({1, 2, 3}) : any({1, 2, 3, 5, 7}));
      weight.push_back(kernel);
      stride.push_back(step);
      dilation.push_back(coin(0.7) ? 1 : any({2, 3, 4}));
      pad.push_back(rng_.between(0, (kernel - 1) / 2));
      more.push_back(rng_.between(0, step - 1));
    }
    if (coin(0.3))
      for (std::size_t a = 0; a < rank; ++a)
        pad.push_back(rng_.between(0, (weight[2 + a] - 1) / 2));
    Arguments out{{"input", list(input)},
                  {"weight", list(weight)},
                  {"stride", list(stride)},
                  {"pad", list(pad)},
                  {"output-padding", list(more)},
                  {"dilation", list(dilation)},
                  {"groups", std::to_string(groups)}};
    if (coin(0.4)) out["epilogue"] = coin() ? "bias,relu" : "residual";
    return out;
  }
  Arguments transposed1d() { return transposed(1); }
  Arguments transposed2d() { return transposed(2); }
  Arguments transposed3d() { return transposed(3); }

  Arguments pool(std::size_t rank) {
    Index input = {any({1, 2}), any({1, 3, 16, 17})}, kernel, stride, pad;
    for (std::size_t a = 0; a < rank; ++a) {
      kernel.push_back(rank == 3 ? any({1, 2, 3}) : any({1, 2, 3, 3, 5}));
      input.push_back(kernel.back() + (rank == 3 ? any({0, 1, 4}) : any({0, 1, 2, 4, 11})));
      stride.push_back(any({1, 2, 2, 3}));
      pad.push_back(rng_.between(0, kernel.back() / 2));
    }
    if (coin(0.3))
      for (std::size_t a = 0; a < rank; ++a) pad.push_back(rng_.between(0, kernel[a] / 2));
    return {{"input", list(input)},
            {"kernel", list(kernel)},
            {"stride", list(stride)},
            {"pad", list(pad)},
            {"ceil-mode", flag()}};
  }
  template <std::size_t kRank>
  Arguments max_pool() {
    return pool(kRank);
  }
  template <std::size_t kRank>
  Arguments avg_pool() {
    Arguments out = pool(kRank);
    out["inside-only"] = flag();
    return out;
  }
  Arguments adaptive_pool() {
    return {{"input", list({any({1, 2}), size(), any({1, 5, 7, 12, 17}), any({3, 8, 13, 31})})},
            {"windows", list({any({1, 2, 3, 5}), any({1, 2, 3, 7})})}};
  }
  Arguments global_pool() {
    return {{"input", list({size(), size(), any({1, 7, 14}), any({1, 3, 7})})}};
  }

  Arguments rows() {
    const Index input = shape();
    Arguments out = {{"input", list(input)}};
    if (coin()) out["axes"] = list(some_of(input));
    return out;
  }
  Arguments log_sum_exp() {
    Arguments out = rows();
    out["keep-dims"] = flag();
    return out;
  }
  Arguments extreme_place() {
    Arguments out = log_sum_exp();
    out["last"] = flag();
    return out;
  }
  Arguments layer_norm() {
    Arguments out = rows();
    out["no-scale"] = flag();
    out["no-shift"] = flag();
    out["statistics"] = flag();
    return out;
  }
  Arguments batch_norm() {
    return {{"input", list(shape(2))}, {"axis", word({"1", "-1"})}, {"relu", flag()}};
  }
  Arguments group_norm() {
    const std::int64_t groups = any({1, 2, 3, 5});
    Index input = {any({1, 2}), groups * any({1, 2, 3, 8})};
    for (std::uint64_t more = rng_.below(3); more > 0; --more) input.push_back(any({1, 3, 7, 16}));
    return {{"input", list(input)}, {"groups", std::to_string(groups)}};
  }
  Arguments attention() {
    Arguments out = {{"heads", list({any({1, 2, 3})})},
                     {"tokens", list({size()})},
                     {"width", list({any({1, 4, 7, 16})})},
                     {"causal", flag()}};
    if (coin()) out["kv-tokens"] = list({size()});
    if (coin(0.4)) {
      const std::int64_t shared = any({1, 2, 3});
      out["heads"] = list({shared * any({1, 2, 3})});
      out["kv-heads"] = list({shared});
    }
    return out;
  }
  Arguments rotation() {
    return {{"heads", list({any({1, 2, 3})})},
            {"tokens", list({size()})},
            {"width", list({2 * size()})},
            {"interleaved", flag()}};
  }
  Arguments cell() {
    return {{"batch", list({any({1, 1, 2, 5})})},
            {"input-size", list({size()})},
            {"hidden-size", list({size()})},
            {"no-bias", flag()}};
  }

  Arguments sequence() {
    Arguments out = cell();
    out["length"] = list({any({1, 2, 3, 7})});
    out["direction"] = word({"forward", "reverse", "bidirectional"});
    out["initial"] = flag();
    if (out["direction"] != "bidirectional") return out;
    out[word({"separate", "directions-first"})] = flag();
    return out;
  }
  Arguments plain_sequence() {
    Arguments out = sequence();
    out["nonlinearity"] = word({"tanh", "relu"});
    return out;
  }
  Arguments peephole_sequence() {
    Arguments out = sequence();
    out["gate-order"] = word({"pytorch", "onnx"});
    out["peepholes"] = flag();
    return out;
  }
  Arguments reset_sequence() {
    Arguments out = sequence();
    out["gate-order"] = word({"pytorch", "onnx"});
    out["reset-first"] = flag();
    return out;
  }

  Arguments reduction() {
    Arguments out = rows();
    out["op"] = word({"sum", "prod", "max", "min", "mean", "argmax", "argmin"});
    out["keep-dims"] = flag();
    return out;
  }
  Arguments scan() {
    const Index input = shape();
    return {{"input", list(input)},
            {"axis", std::to_string(rng_.below(input.size()))},
            {"reverse", flag()}};
  }
  Arguments sum_scan() {
    Arguments out = scan();
    out["exclusive"] = flag();
    return out;
  }
  Arguments permutation() {
    const Index input = shape();
    Index order;
    for (std::size_t d = 0; d < input.size(); ++d)
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(rng_.below(d + 1)),
                   static_cast<std::int64_t>(d));
    return {{"input", list(input)}, {"order", list(order)}};
  }
  Arguments padding() {
    const Index input = shape();
    const std::string mode = word({"constant", "constant", "edge", "reflect", "symmetric", "wrap"});
    Index pad;
    const bool both = coin();
    for (std::size_t n = 0; n < input.size() * (both ? 2 : 1); ++n) {
      const std::int64_t size = input[n % input.size()];
      const std::int64_t most = mode == "reflect" ? size - 1 : mode == "symmetric" ? size : 5;
      pad.push_back(std::min(most, any({0, 0, 1, 2, 5})));
    }
    if (coin(0.3)) pad.front() = input.front() > 2 ? -1 : 0;
    // Less is left to be mirrored.
    if (both && (mode == "reflect" || mode == "symmetric") && pad.front() < 0)
      pad[input.size()] = 0;
    Arguments out = {{"input", list(input)}, {"pad", list(pad)}, {"mode", mode}};
    if (mode == "constant") out["value"] = word({"0", "-inf", "0.5"});
    return out;
  }
  Arguments best() {
    const Index input = shape();
    const auto axis = static_cast<std::int64_t>(rng_.below(input.size()));
    const std::int64_t size = input[static_cast<std::size_t>(axis)];
    return {{"input", list(input)},
            {"axis", list({axis})},
            {"k", list({coin(0.2) ? std::min<std::int64_t>(size, 17)
                                  : std::min(size, any({1, 2, 3, 5}))})},
            {"smallest", flag()},
            {"dtype", word({"f32", "f32", "i32", "f16", "i64"})}};
  }
  Arguments cut() {
    const Index input = shape();
    Arguments out = {{"input", list(input)}, {"step", word({"1", "2", "-1", "-3"})}};
    if (coin()) out["axes"] = list(some_of(input));
    const bool back = out["step"].front() == '-';
    // Ends that leave one element or more of any dimension.
    if (coin()) out["end"] = back ? "-9999" : "9999";
    if (coin(0.4)) out[back ? "end" : "begin"] = back ? "-9999" : "-2";
    return out;
  }
  Arguments concatenation() {
    Index input = shape();
    const std::size_t axis = rng_.below(input.size());
    std::string inputs;
    for (std::int64_t n = any({1, 2, 2, 3, 5}); n > 0; --n) {
      input[axis] = any({1, 2, 5, 16, 19});
      inputs += (inputs.empty() ? "" : ";") + list(input);
    }
    return {{"inputs", inputs}, {"axis", list({static_cast<std::int64_t>(axis)})}};
  }
  Arguments classes() {
    const Index input = shape();
    return {{"input", list(input)},
            {"depth", list({any({1, 2, 3, 5, 17})})},
            {"axis", list({static_cast<std::int64_t>(rng_.below(input.size() + 1))})},
            {"negative", flag()},
            {"values", flag()},
            {"index-dtype", word({"i64", "i32", "u8"})}};
  }
  Arguments resized() {
    Index input = {any({1, 2}), any({1, 3, 17})}, sizes;
    for (std::uint64_t rank = 1 + rng_.below(3); rank > 0; --rank) {
      input.push_back(any({1, 2, 5, 7, 8}));
      sizes.push_back(any({1, 3, 4, 7, 11, 17}));
    }
    Arguments out = {
        {"input", list(input)},
        {"mode", word({"nearest", "linear", "cubic"})},
        {"coordinates", word({"half-pixel", "pytorch-half-pixel", "align-corners", "asymmetric",
                              "tf-half-pixel-for-nn", "tf-crop-and-resize"})},
        {"rounding", word({"round-prefer-floor", "round-prefer-ceil", "floor", "ceil"})}};
    if (coin(0.3)) out["scales"] = word({"1", "1.5", "2"});
    else out["size"] = list(sizes);
    if (coin(0.2)) out["exclude-outside"] = "true";
    if (out["coordinates"] != "tf-crop-and-resize") return out;
    std::vector<std::string> crop(2 * sizes.size());
    for (std::size_t p = 0; p < crop.size(); ++p)
      crop[p] = p < sizes.size() ? word({"-0.3", "0", "0.5"}) : word({"0.7", "1", "1.4"});
    out["crop"] = fmt::format("{}", fmt::join(crop, ","));
    out["outside"] = word({"0", "2"});
    return out;
  }
  Arguments lookup(Arguments out) {
    out["index-dtype"] = word({"i64", "i32", "i8", "u8"});
    out["outside"] = word({"promised", "negative", "clip", "wrap", "fill"});
    if (out["outside"] == "fill") out["value"] = word({"0", "2"});
    return out;
  }
  Arguments slices() {
    const Index input = shape();
    const std::string axis = list({static_cast<std::int64_t>(rng_.below(input.size()))});
    return lookup({{"input", list(input)}, {"indices", list(shape())}, {"axis", axis}});
  }
  Arguments elements() {
    const Index input = shape();
    Index indices = input;
    const std::size_t axis = rng_.below(input.size());
    indices[axis] = size();
    return lookup({{"input", list(input)},
                   {"indices", list(indices)},
                   {"axis", list({static_cast<std::int64_t>(axis)})}});
  }
  Arguments coordinates() {
    const Index input = shape(2);
    const bool batch = coin();
    const auto most = static_cast<std::int64_t>(input.size()) - (batch ? 1 : 0);
    return lookup({{"input", list(input)},
                   {"indices", list({batch ? input[0] : size(), size(), rng_.between(1, most)})},
                   {"batch-dims", batch ? "1" : "0"}});
  }
  Arguments changed(Arguments out) {
    out["index-dtype"] = word({"i64", "i32", "i8", "u8"});
    out["outside"] = word({"promised", "negative", "clip", "wrap", "drop"});
    out["op"] = word({"update", "add", "mul", "max", "min"});
    return out;
  }
  Arguments changed_elements() {
    const Index input = shape();
    Index indices = input;
    const std::size_t axis = rng_.below(input.size());
    for (std::int64_t& most : indices)
      if (coin(0.2)) most = rng_.between(1, most);
    indices[axis] = any({1, 2, 5, 13, 17});
    return changed({{"input", list(input)},
                    {"indices", list(indices)},
                    {"axis", list({static_cast<std::int64_t>(axis)})}});
  }
  Arguments changed_places() {
    const Index input = shape();
    const std::int64_t coordinates = rng_.between(1, std::ssize(input));
    Index indices = {any({1, 3, 7, 16})};
    if (coin(0.3)) indices.push_back(any({1, 2, 3}));
    indices.push_back(coordinates);
    return changed({{"input", list(input)}, {"indices", list(indices)}});
  }
  Arguments sampled() {
    Index input = {any({1, 2}), any({1, 3, 17})}, grid = {input[0]};
    const std::int64_t rank = any({2, 2, 3});
    for (std::int64_t a = 0; a < rank; ++a) {
      input.push_back(any({1, 2, 5, 7}));
      grid.push_back(any({1, 3, 5, 17}) / (rank - 1));
      grid.back() = std::max<std::int64_t>(grid.back(), 1);
    }
    grid.push_back(rank);
    Arguments out = {{"input", list(input)},
                     {"grid", list(grid)},
                     {"mode", word({"linear", "linear", "nearest"})},
                     {"around", word({"zeros", "border", "reflection"})},
                     {"align-corners", flag()}};
    if (rank == 2 && coin(0.3)) out["mode"] = "cubic";
    return out;
  }
  Arguments looked_up_rows() {
    return lookup({{"table", list({any({1, 2, 37, 300}), size()})},
                   {"indices", list({size(), size()})},
                   {"bag", word({"none", "sum", "mean", "max"})}});
  }
  Arguments function() {
    return {{"input", list(shape())},
            {"function",
             word({"relu", "gelu", "gelu-tanh", "silu", "mish", "softplus", "elu", "hardswish",
                   "hardsigmoid", "relu6", "softsign", "sigmoid", "tanh", "erf"})}};
  }

  Rng rng_;
};

}  // namespace

ops::Arguments awkward_arguments(const ops::Operator& op, std::uint64_t seed) {
  return Shapes(seed).arguments(op);
}

}  // namespace lathe::space
