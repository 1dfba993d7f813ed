#include "compiler/ops/conv.h"

#include "compiler/ops/epilogue.h"
#include "compiler/ops/padding.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

struct ConvAxis {
  std::int64_t in, kernel, stride, dilation, before = 0, after = 0, out = 0;
  std::string name, tap;  // iterators of the output and of the kernel: "y", "r"
};

struct Conv {
  std::int64_t n, ic, oc, group_ic, groups;
  std::vector<ConvAxis> axes;
};

Status fit(ConvAxis& axis) {
  const std::int64_t reach = axis.dilation * (axis.kernel - 1) + 1;
  const std::int64_t room = axis.in + axis.before + axis.after;
  if (reach > room)
    return Values::error("weight",
                         "the kernel reaches over {} elements along {}, the padded input has {}",
                         reach, axis.name, room);
  axis.out = (room - reach) / axis.stride + 1;
  return {};
}

Result<Conv> conv_of(const Values& values, std::size_t rank) {
  const auto input = LATHE_TRY(values.dims("input", 2 + rank));
  const auto weight = LATHE_TRY(values.dims("weight", 2 + rank));
  const std::int64_t groups = LATHE_TRY(values.size("groups"));
  if (weight[0] % groups != 0)
    return Values::error("groups", "the {} output channels do not divide into {} groups", weight[0],
                         groups);
  if (input[1] % groups != 0 || input[1] / groups != weight[1])
    return Values::error(
        "weight", "the input {} has {} channels, the weight {} takes {} in each of {} groups",
        shaped("X", input), input[1], shaped("W", weight), weight[1], groups);
  const auto strides = LATHE_TRY(values.each("stride", letters_of(rank)));
  const auto dilations = LATHE_TRY(values.each("dilation", letters_of(rank)));
  const auto padding = LATHE_TRY(padding_of(values, rank));
  Conv conv{input[0], input[1], weight[0], weight[1], groups, {}};
  for (std::size_t a = 0; a < rank; ++a) {
    ConvAxis axis{input[2 + a], weight[2 + a], strides[a], dilations[a]};
    axis.before = padding[a].before;
    axis.after = padding[a].after;
    axis.name = letters_of(rank)[a];
    axis.tap = taps_of(rank)[a];
    conv.axes.push_back(std::move(axis));
  }
  for (ConvAxis& axis : conv.axes) LATHE_TRY_STATUS(fit(axis));
  return conv;
}

// Writes "2*y + r - 1".
std::string index(const ConvAxis& axis) {
  const auto scaled = [](std::int64_t by, const std::string& iter) {
    return by == 1 ? iter : fmt::format("{}*{}", by, iter);
  };
  std::string text = scaled(axis.stride, axis.name) + " + " + scaled(axis.dilation, axis.tap);
  if (axis.before > 0) text += fmt::format(" - {}", axis.before);
  return text;
}

std::string window(const Conv& conv) {
  std::vector<std::string> indices;
  bool padded = false;
  for (const ConvAxis& axis : conv.axes) {
    indices.push_back(index(axis));
    padded |= axis.before + axis.after > 0;
  }
  return fmt::format("{}{}", fmt::join(indices, ", "), padded ? " else 0" : "");
}

// Sets the iterators and shapes of the output, which is [n,o,y,x] unless groups are a loop.
Output output_of(const Conv& conv, bool grouped) {
  const std::int64_t group_oc = conv.oc / conv.groups;
  Output output{"Y", {"n", "o"}, {conv.n, conv.oc}, "o", conv.oc};
  if (grouped) {
    output.iters = {"n", fmt::format("g:{}", conv.groups), fmt::format("o:{}", group_oc)};
    output.border_shape = output.shape;
    output.shape = {conv.n, conv.groups, group_oc};
    output.channel = fmt::format("{}*g + o", group_oc);
  }
  for (const ConvAxis& axis : conv.axes) {
    output.iters.push_back(fmt::format("{}:{}", axis.name, axis.out));
    output.shape.push_back(axis.out);
    if (grouped) output.border_shape.push_back(axis.out);
  }
  return output;
}

Result<std::vector<Algorithm>> build_conv(const Values& values, std::size_t rank) {
  const Conv conv = LATHE_TRY(conv_of(values, rank));
  std::vector<std::int64_t> input = {conv.n, conv.ic}, weight = {conv.oc, conv.group_ic};
  std::vector<std::string> taps;
  for (const ConvAxis& axis : conv.axes) {
    input.push_back(axis.in);
    weight.push_back(axis.kernel);
    taps.push_back(axis.tap);
  }
  const std::string over = fmt::format("{}", fmt::join(taps, ","));
  const bool depthwise = conv.group_ic == 1 && conv.oc == conv.groups && conv.groups > 1;
  const Output output = output_of(conv, conv.groups > 1 && !depthwise);
  const std::string x = window(conv);
  std::string sum;
  if (conv.groups == 1) sum = fmt::format("sum(c,{0}) X[n,c,{1}] * W[o,c,{0}]", over, x);
  else if (conv.group_ic == 1)
    sum = fmt::format("sum({0}) X[n,{2},{1}] * W[{3},0,{0}]", over, x, depthwise ? "o" : "g",
                      output.channel);
  else
    sum = fmt::format("sum(c,{0}) X[n,{2}*g + c,{1}] * W[{3},c,{0}]", over, x, conv.group_ic,
                      output.channel);
  return direct(workload_with_epilogue(values, fmt::format("conv{}d", rank),
                                       {shaped("X", input), "const " + shaped("W", weight)}, output,
                                       sum));
}

// `spatial` is how the help writes the axes of a tensor: "h,w".
std::vector<Parameter> conv_parameters(std::size_t rank, const std::string& spatial,
                                       const std::string& kernel) {
  const std::string each = one_or_each(rank);
  return {{Kind::kDims, "input", "", "shape of the input: n,c," + spatial},
          {Kind::kDims, "weight", "", "shape of the constant weight: o,c/groups," + kernel},
          {Kind::kInts, "stride", "1", each},
          pad_parameter(rank, "zeros around the input"),
          {Kind::kInts, "dilation", "1", each},
          {Kind::kInt, "groups", "1", "channels are convolved in that many separate groups"},
          dtype_parameter(),
          epilogue_parameter()};
}

template <std::size_t kRank>
Result<std::vector<Algorithm>> build_conv_of(const Values& values) {
  return build_conv(values, kRank);
}

}  // namespace

Operator conv1d() {
  return {"conv1d",
          "1-D convolution of X[n,c,w] with the constant W[o,c/groups,kw]; groups = c = o is "
          "depthwise",
          conv_parameters(1, "w", "kw"), build_conv_of<1>};
}

Operator conv2d() {
  return {"conv2d",
          "2-D convolution of X[n,c,h,w] with the constant W[o,c/groups,kh,kw]; groups = c = o is "
          "depthwise",
          conv_parameters(2, "h,w", "kh,kw"), build_conv_of<2>};
}

Operator conv3d() {
  return {"conv3d", "3-D convolution of X[n,c,d,h,w] with the constant W[o,c/groups,kd,kh,kw]",
          conv_parameters(3, "d,h,w", "kd,kh,kw"), build_conv_of<3>};
}

}  // namespace lathe::ops
