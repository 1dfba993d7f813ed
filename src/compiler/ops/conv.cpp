#include "compiler/ops/conv.h"

#include "compiler/ops/epilogue.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

struct Axis {
  std::int64_t in, kernel, stride, dilation, before, after, out;
};

struct Conv {
  std::int64_t n, ic, oc, group_ic, groups;
  Axis y, x;
};

Status fit(Axis& axis, const char* name) {
  const std::int64_t reach = axis.dilation * (axis.kernel - 1) + 1;
  const std::int64_t room = axis.in + axis.before + axis.after;
  if (reach > room)
    return Values::error("weight",
                         "the kernel reaches over {} elements along {}, the padded input has {}",
                         reach, name, room);
  axis.out = (room - reach) / axis.stride + 1;
  return {};
}

// Takes one value for all sides, two for y,x, or top,left,bottom,right as in ONNX.
Status set_padding(const Values& values, Conv& conv) {
  const auto& pad = values.numbers("pad");
  if (pad.size() != 1 && pad.size() != 2 && pad.size() != 4)
    return Values::error("pad",
                         "1 value, 2 (y,x) or 4 (top,left,bottom,right) are needed, {} are given",
                         pad.size());
  const std::size_t x = pad.size() == 1 ? 0 : 1, after = pad.size() == 4 ? 2 : 0;
  conv.y.before = pad[0];
  conv.x.before = pad[x];
  conv.y.after = pad[after];
  conv.x.after = pad[after + x];
  return {};
}

Result<Conv> conv_of(const Values& values) {
  const auto input = LATHE_TRY(values.dims("input", 4));
  const auto weight = LATHE_TRY(values.dims("weight", 4));
  const std::int64_t groups = values.integer("groups");
  if (groups < 1) return Values::error("groups", "at least 1 is needed");
  if (weight[0] % groups != 0)
    return Values::error("groups", "the {} output channels do not divide into {} groups", weight[0],
                         groups);
  if (input[1] % groups != 0 || input[1] / groups != weight[1])
    return Values::error(
        "weight", "the input {} has {} channels, the weight {} takes {} in each of {} groups",
        shaped("X", input), input[1], shaped("W", weight), weight[1], groups);
  const auto [stride_y, stride_x] = LATHE_TRY(values.two("stride"));
  const auto [dilation_y, dilation_x] = LATHE_TRY(values.two("dilation"));
  Conv conv{input[0],
            input[1],
            weight[0],
            weight[1],
            groups,
            {input[2], weight[2], stride_y, dilation_y, 0, 0, 0},
            {input[3], weight[3], stride_x, dilation_x, 0, 0, 0}};
  LATHE_TRY_STATUS(set_padding(values, conv));
  LATHE_TRY_STATUS(fit(conv.y, "y"));
  LATHE_TRY_STATUS(fit(conv.x, "x"));
  return conv;
}

// Writes "2*y + r - 1".
std::string index(const Axis& axis, const char* out, const char* tap) {
  const auto scaled = [](std::int64_t by, const char* iter) {
    return by == 1 ? std::string(iter) : fmt::format("{}*{}", by, iter);
  };
  std::string text = scaled(axis.stride, out) + " + " + scaled(axis.dilation, tap);
  if (axis.before > 0) text += fmt::format(" - {}", axis.before);
  return text;
}

std::string window(const Conv& conv) {
  const bool padded = conv.y.before + conv.y.after + conv.x.before + conv.x.after > 0;
  return index(conv.y, "y", "r") + ", " + index(conv.x, "x", "s") + (padded ? " else 0" : "");
}

Result<std::vector<Algorithm>> build_conv2d(const Values& values) {
  const Conv conv = LATHE_TRY(conv_of(values));
  const std::int64_t group_oc = conv.oc / conv.groups;
  const std::vector<std::string> declarations = {
      shaped("X", {conv.n, conv.ic, conv.y.in, conv.x.in}),
      "const " + shaped("W", {conv.oc, conv.group_ic, conv.y.kernel, conv.x.kernel})};
  const std::string y = fmt::format("y:{}", conv.y.out), x = fmt::format("x:{}", conv.x.out);
  Output output{"Y", {"n", "o", y, x}, {conv.n, conv.oc, conv.y.out, conv.x.out}, "o", conv.oc};
  std::string sum;
  if (conv.groups == 1) {
    sum = fmt::format("sum(c,r,s) X[n,c,{}] * W[o,c,r,s]", window(conv));
  } else if (conv.group_ic == 1 && group_oc == 1) {
    sum = fmt::format("sum(r,s) X[n,o,{}] * W[o,0,r,s]", window(conv));
  } else {
    output.iters = {"n", fmt::format("g:{}", conv.groups), fmt::format("o:{}", group_oc), y, x};
    output.border_shape = output.shape;
    output.shape = {conv.n, conv.groups, group_oc, conv.y.out, conv.x.out};
    output.channel = fmt::format("{}*g + o", group_oc);
    sum = conv.group_ic == 1
              ? fmt::format("sum(r,s) X[n,g,{}] * W[{},0,r,s]", window(conv), output.channel)
              : fmt::format("sum(c,r,s) X[n,{}*g + c,{}] * W[{},c,r,s]", conv.group_ic,
                            window(conv), output.channel);
  }
  return direct(workload_with_epilogue(values, "conv2d", declarations, output, sum));
}

}  // namespace

Operator conv2d() {
  return {
      "conv2d",
      "2-D convolution of X[n,c,h,w] with the constant W[o,c/groups,kh,kw]; groups = c = o is "
      "depthwise",
      {{Kind::kDims, "input", "", "shape of the input: n,c,h,w"},
       {Kind::kDims, "weight", "", "shape of the constant weight: o,c/groups,kh,kw"},
       {Kind::kInts, "stride", "1", "one value, or y,x"},
       {Kind::kInts, "pad", "0", "zeros around the input: one value, y,x or top,left,bottom,right"},
       {Kind::kInts, "dilation", "1", "one value, or y,x"},
       {Kind::kInt, "groups", "1", "channels are convolved in that many separate groups"},
       dtype_parameter(),
       epilogue_parameter()},
      build_conv2d};
}

}  // namespace lathe::ops
