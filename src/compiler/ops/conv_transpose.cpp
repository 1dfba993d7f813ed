#include "compiler/ops/conv_transpose.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/ops/epilogue.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

// A part of the phase: an iterator, its size, and what it adds to the output index, the tap and the
// index of the input.
struct Digit {
  std::string iter;
  std::int64_t size, output, tap, input;
};

struct UpAxis {
  std::int64_t in, kernel, stride, pad, out;
  std::string name, tap;  // iterators of the output and of the taps of a phase: "y", "r"
  std::vector<Digit> phase;
  std::int64_t taps = 0, first_tap = 0, first_input = 0;  // of a phase; of phase 0

  bool whole() const { return out % stride == 0; }  // no phase is left out at the end
  std::int64_t steps() const { return (out + stride - 1) / stride; }
};

struct Transpose {
  std::int64_t n, ic, group_oc, groups;
  std::vector<UpAxis> axes;

  std::int64_t group_ic() const { return ic / groups; }
  std::int64_t oc() const { return group_oc * groups; }
  bool depthwise() const { return groups > 1 && groups == ic && group_oc == 1; }
};

// A tap k of the output index j = stride*y + p reads the input at (j + pad - k) / stride, so k and
// p + pad leave the same remainder. The remainder is affine in p where the stride divides pad; and
// where it divides twice pad, in the two digits p = stride/2*u + v. Else taps are counted from
// outside the kernel, and some phases have a tap there that reads 0.
void set_phases(UpAxis& axis) {
  const std::int64_t s = axis.stride, half = s / 2, rest = axis.pad % s;
  const std::string u = axis.name + "u", v = axis.name + "v";
  if (rest == 0) {
    axis.first_input = axis.pad / s;
    if (s > 1) axis.phase = {{v, s, 1, 1, 0}};
  } else if (2 * rest == s) {
    axis.first_tap = half;
    axis.first_input = (axis.pad - half) / s;
    axis.phase = {{u, 2, half, -half, 1}};
    if (half > 1) axis.phase.push_back({v, half, 1, 1, 0});
  } else {
    axis.first_tap = rest - s;
    axis.first_input = (axis.pad - rest) / s + 1;
    axis.phase = {{v, s, 1, 1, 0}};
  }
  std::int64_t lowest = axis.first_tap;
  for (const Digit& digit : axis.phase)
    lowest += std::min<std::int64_t>(0, digit.tap * (digit.size - 1));
  axis.taps = (axis.kernel - 1 - lowest) / s + 1;
}

Result<UpAxis> up_axis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                       std::int64_t more, char name) {
  if (more >= stride)
    return Values::error("output-padding", "{} is not less than the stride {} along {}", more,
                         stride, name);
  UpAxis axis{in, kernel, stride, pad, (in - 1) * stride + kernel + more - 2 * pad};
  if (axis.out < 1)
    return Values::error("pad", "nothing is left along {}: {} outputs without padding, 2*{} less",
                         name, axis.out + 2 * pad, pad);
  axis.name = name;
  axis.tap = name == 'y' ? "r" : "s";
  set_phases(axis);
  return axis;
}

Result<Transpose> transpose_of(const Values& values, std::string_view letters) {
  const auto input = LATHE_TRY(values.dims("input", 2 + letters.size()));
  const auto weight = LATHE_TRY(values.dims("weight", 2 + letters.size()));
  const std::int64_t groups = LATHE_TRY(values.size("groups"));
  if (weight[0] != input[1])
    return Values::error("weight",
                         "the input {} has {} channels, the weight {} takes {}; its order is "
                         "c,o/groups and the kernel",
                         shaped("X", input), input[1], shaped("W", weight), weight[0]);
  if (input[1] % groups != 0)
    return Values::error("groups", "the {} input channels do not divide into {} groups", input[1],
                         groups);
  const auto strides = LATHE_TRY(values.each("stride", letters));
  const auto pads = LATHE_TRY(values.each("pad", letters, 0));
  const auto more = LATHE_TRY(values.each("output-padding", letters, 0));
  Transpose out{input[0], input[1], weight[1], groups, {}};
  for (std::size_t a = 0; a < letters.size(); ++a)
    out.axes.push_back(
        LATHE_TRY(up_axis(input[2 + a], weight[2 + a], strides[a], pads[a], more[a], letters[a])));
  return out;
}

std::string sum_of(const std::vector<std::pair<std::int64_t, std::string>>& terms,
                   std::int64_t offset) {
  std::string text;
  for (const auto& [factor, iter] : terms) {
    if (factor == 0) continue;
    const std::int64_t size = std::abs(factor);
    if (!text.empty()) text += factor < 0 ? " - " : " + ";
    else if (factor < 0) text += "-";
    text += size == 1 ? iter : fmt::format("{}*{}", size, iter);
  }
  if (offset != 0) text += fmt::format(" {} {}", offset < 0 ? '-' : '+', std::abs(offset));
  return text;
}

// The indices of W and X along an axis, and whether they stay inside.
struct Indices {
  std::string tap, input;
  bool tap_inside, input_inside;
};

Indices indices_of(const UpAxis& axis) {
  std::vector<std::pair<std::int64_t, std::string>> tap = {{axis.stride, axis.tap}},
                                                    input = {{1, axis.name}, {-1, axis.tap}};
  std::int64_t low = axis.first_tap, high = low + axis.stride * (axis.taps - 1);
  std::int64_t first = axis.first_input - (axis.taps - 1),
               last = axis.first_input + axis.steps() - 1;
  for (const Digit& digit : axis.phase) {
    tap.emplace_back(digit.tap, digit.iter);
    input.emplace_back(digit.input, digit.iter);
    (digit.tap < 0 ? low : high) += digit.tap * (digit.size - 1);
    last += digit.input * (digit.size - 1);
  }
  return {sum_of(tap, axis.first_tap), sum_of(input, axis.first_input),
          low >= 0 && high < axis.kernel, first >= 0 && last < axis.in};
}

// The sum of a phase. Taps outside of the kernel are read as 0, or left out where a NaN of the
// input would show that they are there.
std::string value_of(const Transpose& t, te::Numerics level) {
  std::vector<std::string> taps, inputs, over, inside;
  bool taps_inside = true, inputs_inside = true;
  for (const UpAxis& axis : t.axes) {
    const Indices indices = indices_of(axis);
    taps.push_back(indices.tap);
    inputs.push_back(indices.input);
    over.push_back(fmt::format("{}:{}", axis.tap, axis.taps));
    taps_inside &= indices.tap_inside;
    if (!indices.tap_inside)
      inside.push_back(fmt::format("{0} >= 0 && {0} < {1}", indices.tap, axis.kernel));
    inputs_inside &= indices.input_inside;
  }
  std::string from = "c", to = "o";
  if (t.depthwise()) from = "o", to = "0";
  else if (t.groups > 1) from = t.group_ic() == 1 ? "g" : fmt::format("{}*g + c", t.group_ic());
  if (t.groups == 1 || t.group_ic() > 1)
    over.insert(over.begin(), fmt::format("c:{}", t.group_ic()));
  std::string term = fmt::format("X[n,{},{}{}] * W[{},{},{}{}]", from, fmt::join(inputs, ","),
                                 inputs_inside ? "" : " else 0", from, to, fmt::join(taps, ","),
                                 taps_inside ? "" : " else 0");
  if (level == te::Numerics::kComponentwise && !taps_inside)
    term = fmt::format("select({}, {}, 0)", fmt::join(inside, " && "), term);
  return fmt::format("sum({}) {}", fmt::join(over, ","), term);
}

// The output where the axes below `first` that are no multiple of the stride are written whole, and
// all others have a dimension for each digit of the phase.
Output phased_output(const Transpose& t, const std::string& name, std::size_t first) {
  Output out{name, {"n", "o:" + std::to_string(t.oc())}, {t.n, t.oc()}, "o", t.oc()};
  out.border_shape = out.shape;
  if (t.groups > 1 && !t.depthwise()) {
    out.iters = {"n", fmt::format("g:{}", t.groups), fmt::format("o:{}", t.group_oc)};
    out.shape = {t.n, t.groups, t.group_oc};
    out.channel = fmt::format("{}*g + o", t.group_oc);
  }
  for (std::size_t a = 0; a < t.axes.size(); ++a) {
    const UpAxis& axis = t.axes[a];
    out.border_shape.push_back(axis.out);
    const bool joined = a < first && !axis.whole();
    out.shape.push_back(joined ? axis.out : axis.steps());
    out.iters.push_back(fmt::format("{}:{}", axis.name, out.shape.back()));
    if (joined) continue;
    for (const Digit& digit : axis.phase) {
      out.shape.push_back(digit.size);
      out.iters.push_back(fmt::format("{}:{}", digit.iter, digit.size));
    }
  }
  if (out.border_shape == out.shape) out.border_shape.clear();
  return out;
}

// Writes the phases of an axis side by side. An output index less that of an element without its
// last digit is this digit, if it is one: of all elements of `from` along the axis, the sum takes
// the one that belongs there, and zeros.
std::string side_by_side(const UpAxis& axis, const Output& from) {
  std::vector<std::string> over = {fmt::format("t:{}", axis.steps())}, index;
  std::vector<std::pair<std::int64_t, std::string>> digit = {{1, axis.name}, {-axis.stride, "t"}};
  for (std::size_t d = 0; d + 1 < axis.phase.size(); ++d) {
    over.push_back(fmt::format("{}:{}", axis.phase[d].iter, axis.phase[d].size));
    digit.emplace_back(-axis.phase[d].output, axis.phase[d].iter);
  }
  for (const std::string& iter : from.iters) {
    std::string name = iter.substr(0, iter.find(':'));
    if (name == axis.name) name = "t";
    else if (name == axis.phase.back().iter) name = sum_of(digit, 0);
    index.push_back(std::move(name));
  }
  return fmt::format("sum({}) {}[{} else 0]", fmt::join(over, ","), from.name,
                     fmt::join(index, ","));
}

Result<std::vector<Algorithm>> build_transpose(const Values& values, std::string_view letters) {
  const Transpose t = LATHE_TRY(transpose_of(values, letters));
  std::vector<std::int64_t> input = {t.n, t.ic}, weight = {t.ic, t.group_oc};
  for (const UpAxis& axis : t.axes) {
    input.push_back(axis.in);
    weight.push_back(axis.kernel);
  }
  Output output = phased_output(t, "Y", 0);
  std::string value = value_of(t, values.numerics()), before;
  for (std::size_t a = 0; a < t.axes.size(); ++a) {
    if (t.axes[a].whole()) continue;
    output.name = fmt::format("{}_phases", t.axes[a].name);
    before += fmt::format("{}[{}] = {}\n", output.name, fmt::join(output.iters, ","), value);
    value = side_by_side(t.axes[a], output);
    output = phased_output(t, "Y", a + 1);
  }
  return direct(workload_with_epilogue(values, fmt::format("conv_transpose{}d", letters.size()),
                                       {shaped("X", input), "const " + shaped("W", weight)}, output,
                                       value, before));
}

Result<std::vector<Algorithm>> build_transpose1d(const Values& values) {
  return build_transpose(values, "x");
}
Result<std::vector<Algorithm>> build_transpose2d(const Values& values) {
  return build_transpose(values, "yx");
}

std::vector<Parameter> transpose_parameters(const std::string& spatial, const std::string& kernel,
                                            const std::string& each) {
  return {{Kind::kDims, "input", "", "shape of the input: n,c," + spatial},
          {Kind::kDims, "weight", "", "shape of the constant weight: c,o/groups," + kernel},
          {Kind::kInts, "stride", "1", each},
          {Kind::kInts, "pad", "0", "outputs left out at both ends: " + each},
          {Kind::kInts, "output-padding", "0", "outputs more at the far end: " + each},
          {Kind::kInt, "groups", "1", "channels are convolved in that many separate groups"},
          dtype_parameter(),
          epilogue_parameter()};
}

}  // namespace

Operator conv_transpose1d() {
  return {"conv_transpose1d",
          "transposed 1-D convolution of X[n,c,w] with the constant W[c,o/groups,kw]",
          transpose_parameters("w", "kw", "one value"), build_transpose1d};
}

Operator conv_transpose2d() {
  return {"conv_transpose2d",
          "transposed 2-D convolution of X[n,c,h,w] with the constant W[c,o/groups,kh,kw]",
          transpose_parameters("h,w", "kh,kw", "one value, or y,x"), build_transpose2d};
}

}  // namespace lathe::ops
