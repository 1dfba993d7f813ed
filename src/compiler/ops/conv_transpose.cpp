#include "compiler/ops/conv_transpose.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "compiler/ops/epilogue.h"
#include "compiler/ops/padding.h"

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
  std::int64_t in, kernel, stride, dilation;
  Padding pad;
  std::int64_t out;
  std::string name, tap;  // iterators of the output and of the taps of a phase: "y", "r"
  std::vector<Digit> phase;
  std::int64_t taps = 0, first_tap = 0, first_input = 0;  // of a phase; of phase 0
  std::int64_t tap_step = 1,
               tap_input = 1;  // from one tap of a phase to the next, and to its input
  std::string only = {};       // the phases that taps reach, as a condition; empty: all
  bool lone = false;           // of one input element, which each output reads by one tap

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

// The lowest tap of all phases, counted from tap 0 of phase 0.
std::int64_t lowest_tap(const std::vector<Digit>& phase) {
  std::int64_t lowest = 0;
  for (const Digit& digit : phase)
    lowest += std::min<std::int64_t>(0, digit.tap * (digit.size - 1));
  return lowest;
}
std::int64_t highest_tap(const std::vector<Digit>& phase) {
  std::int64_t highest = 0;
  for (const Digit& digit : phase)
    highest += std::max<std::int64_t>(0, digit.tap * (digit.size - 1));
  return highest;
}

std::int64_t remainder(std::int64_t value, std::int64_t of) { return (value % of + of) % of; }

// e in [0, s) for which d*e leaves 1 when divided by s. They have no common factor.
std::int64_t inverse(std::int64_t d, std::int64_t s) {
  std::int64_t from = s, to = d % s, e = 1, before = 0;
  while (to > 1) {
    before -= from / to * e;
    from %= to;
    std::swap(from, to);
    std::swap(before, e);
  }
  return remainder(e, s);
}

// Of a stride s and a dilation d without a common factor, and outputs that follow each other by
// `output` (1 unless there was such a factor). A tap k of the output j = s*y + p reads the input at
// (j + pad - d*k) / s, so that d*k and p + pad leave the same remainder: k is e*(p + pad) and
// multiples of s, where d*e leaves 1. That is affine in p; of the two e that are near 0, the one
// with fewer taps outside of the kernel is taken. Where s divides twice pad, there are none in the
// two digits p = s/2*u + v. Else some phases have a tap outside the kernel, which reads 0.
void set_phases(UpAxis& axis, std::int64_t s, std::int64_t d, std::int64_t pad,
                std::int64_t output) {
  const std::int64_t rest = pad % s, half = s / 2, e = s == 1 ? 0 : inverse(d, s);
  const std::string u = axis.name + "u", v = axis.name + "v";
  std::vector<std::vector<Digit>> choices;
  if (s == 1) choices = {{}};
  else
    for (const std::int64_t factor : {e, e - s})
      choices.push_back({{v, s, output, factor, (1 - d * factor) / s}});
  if (d == 1 && s > 1) choices.resize(1);
  if (d == 1 && s > 1 && 2 * rest == s) {
    choices = {{{u, 2, half * output, -half, 1}}};
    if (half > 1) choices[0].push_back({v, half, output, 1, 0});
  }
  for (const std::vector<Digit>& phase : choices) {
    // The first tap of phase 0 is as far up as no phase's lies behind the first s.
    const std::int64_t last = s - 1 - highest_tap(phase),
                       first = last - remainder(last - e * rest, s);
    const std::int64_t taps = (axis.kernel - 1 - first - lowest_tap(phase)) / s + 1;
    if (axis.taps > 0 && taps >= axis.taps) continue;
    axis.phase = phase;
    axis.taps = taps;
    axis.first_tap = first;
    axis.first_input = (pad - d * first) / s;
  }
  axis.tap_step = s;
  axis.tap_input = d;
}

// A common factor g of stride and dilation leaves outputs without a tap: of g that follow each
// other, all but one. Those that have taps are a transposed convolution with both divided by g.
void set_phases(UpAxis& axis) {
  const std::int64_t g = std::gcd(axis.stride, axis.dilation);
  const std::int64_t first = (g - axis.pad.before % g) % g;  // of the outputs that have taps
  set_phases(axis, axis.stride / g, axis.dilation / g, (axis.pad.before + first) / g, g);
  if (g == 1) return;
  const std::string w = axis.name + "w";
  axis.phase.push_back({w, g, 1, 0, 0});
  axis.only = fmt::format("{} == {}", w, first);
}

Result<UpAxis> up_axis(UpAxis axis, std::int64_t more) {
  if (more >= std::max(axis.stride, axis.dilation))
    return Values::error(
        "output-padding", "{} is not less than the stride {}{} along {}", more, axis.stride,
        axis.dilation > 1 ? fmt::format(" or the dilation {}", axis.dilation) : "", axis.name);
  const std::int64_t all =
      (axis.in - 1) * axis.stride + axis.dilation * (axis.kernel - 1) + 1 + more;
  axis.out = all - axis.pad.before - axis.pad.after;
  if (axis.out < 1)
    return Values::error("pad", "nothing is left along {}: {} outputs without padding, {} less",
                         axis.name, all, axis.pad.before + axis.pad.after);
  if (axis.in > 1 || axis.dilation > 1) {
    set_phases(axis);
    return axis;
  }
  axis.lone = true;
  axis.stride = 1;
  if (axis.pad.before + axis.out > axis.kernel)
    axis.only = fmt::format("{} < {}", axis.name, axis.kernel - axis.pad.before);
  return axis;
}

Result<Transpose> transpose_of(const Values& values, std::size_t rank) {
  const std::string_view letters = letters_of(rank);
  const auto input = LATHE_TRY(values.dims("input", 2 + rank));
  const auto weight = LATHE_TRY(values.dims("weight", 2 + rank));
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
  const auto dilations = LATHE_TRY(values.each("dilation", letters));
  const auto padding = LATHE_TRY(padding_of(values, rank));
  const auto more = LATHE_TRY(values.each("output-padding", letters, 0));
  Transpose out{input[0], input[1], weight[1], groups, {}};
  for (std::size_t a = 0; a < rank; ++a) {
    UpAxis axis{input[2 + a], weight[2 + a], strides[a], dilations[a], padding[a], 0};
    axis.name = letters[a];
    axis.tap = taps_of(rank)[a];
    out.axes.push_back(LATHE_TRY(up_axis(std::move(axis), more[a])));
  }
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
  // Which phases have a tap inside of the kernel; empty: all, or the terms of a sum differ in that.
  std::string phases;
};

// Of taps from `low` on, written as `text`: those inside of the kernel.
std::string inside_kernel(const UpAxis& axis, const std::string& text, std::int64_t low,
                          std::int64_t high) {
  const std::string above = low < 0 ? fmt::format("{} >= 0", text) : "",
                    below = high >= axis.kernel ? fmt::format("{} < {}", text, axis.kernel) : "";
  return above.empty() || below.empty() ? above + below : above + " && " + below;
}

Indices indices_of(const UpAxis& axis) {
  if (axis.lone)
    return {sum_of({{1, axis.name}}, axis.pad.before), "0", axis.only.empty(), true, {}};
  std::vector<std::pair<std::int64_t, std::string>> tap = {{axis.tap_step, axis.tap}},
                                                    input = {{1, axis.name},
                                                             {-axis.tap_input, axis.tap}};
  std::int64_t low = axis.first_tap, high = low + axis.tap_step * (axis.taps - 1);
  std::int64_t first = axis.first_input - axis.tap_input * (axis.taps - 1),
               last = axis.first_input + axis.steps() - 1;
  for (const Digit& digit : axis.phase) {
    tap.emplace_back(digit.tap, digit.iter);
    input.emplace_back(digit.input, digit.iter);
    (digit.tap < 0 ? low : high) += digit.tap * (digit.size - 1);
    (digit.input < 0 ? first : last) += digit.input * (digit.size - 1);
  }
  Indices out{sum_of(tap, axis.first_tap),
              sum_of(input, axis.first_input),
              low >= 0 && high < axis.kernel,
              first >= 0 && last < axis.in,
              {}};
  if (axis.taps == 1 && !axis.phase.empty()) {
    tap.erase(tap.begin());
    out.phases = inside_kernel(axis, sum_of(tap, axis.first_tap), low, high);
  }
  return out;
}

// True if some phase has no tap inside of the kernel.
bool has_empty_phase(const UpAxis& axis) {
  std::vector<std::int64_t> firsts = {axis.first_tap};
  for (const Digit& digit : axis.phase) {
    std::vector<std::int64_t> more;
    for (const std::int64_t first : firsts)
      for (std::int64_t i = 0; i < digit.size; ++i) more.push_back(first + digit.tap * i);
    firsts = std::move(more);
  }
  return std::ranges::any_of(firsts, [&](std::int64_t first) {
    for (std::int64_t t = 0; t < axis.taps; ++t)
      if (const std::int64_t tap = first + axis.tap_step * t; tap >= 0 && tap < axis.kernel)
        return false;
    return true;
  });
}

// The sum of a phase, or 0 of a phase without taps. Taps outside of the kernel are read as 0, or
// left out where a NaN of the input would show that they are there: beside other taps of an element
// that is for the level that is strict in this.
std::string value_of(const Transpose& t, te::Numerics level) {
  std::vector<std::string> taps, inputs, over, inside, only;
  bool taps_inside = true, inputs_inside = true;
  for (const UpAxis& axis : t.axes) {
    const Indices indices = indices_of(axis);
    taps.push_back(indices.tap);
    inputs.push_back(indices.input);
    if (!axis.lone) over.push_back(fmt::format("{}:{}", axis.tap, axis.taps));
    taps_inside &= indices.tap_inside;
    const bool strict = level == te::Numerics::kComponentwise ||
                        (level == te::Numerics::kLocal && axis.taps > 1 && has_empty_phase(axis));
    if (strict && !indices.tap_inside && !axis.lone)
      inside.push_back(fmt::format("{0} >= 0 && {0} < {1}", indices.tap, axis.kernel));
    inputs_inside &= indices.input_inside;
    if (!axis.only.empty()) only.push_back(axis.only);
    if (level == te::Numerics::kLocal && !indices.phases.empty()) only.push_back(indices.phases);
  }
  std::string from = "c", to = "o";
  if (t.depthwise()) from = "o", to = "0";
  else if (t.groups > 1) from = t.group_ic() == 1 ? "g" : fmt::format("{}*g + c", t.group_ic());
  if (t.groups == 1 || t.group_ic() > 1)
    over.insert(over.begin(), fmt::format("c:{}", t.group_ic()));
  std::string term = fmt::format("X[n,{},{}{}] * W[{},{},{}{}]", from, fmt::join(inputs, ","),
                                 inputs_inside ? "" : " else 0", from, to, fmt::join(taps, ","),
                                 taps_inside ? "" : " else 0");
  if (!inside.empty()) term = fmt::format("select({}, {}, 0)", fmt::join(inside, " && "), term);
  const std::string sum =
      over.empty() ? term : fmt::format("sum({}) {}", fmt::join(over, ","), term);
  return only.empty() ? sum : fmt::format("select({}, ({}), 0)", fmt::join(only, " && "), sum);
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

template <std::size_t kRank>
Result<std::vector<Algorithm>> build_transpose(const Values& values) {
  const Transpose t = LATHE_TRY(transpose_of(values, kRank));
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
  return direct(workload_with_epilogue(values, fmt::format("conv_transpose{}d", kRank),
                                       {shaped("X", input), "const " + shaped("W", weight)}, output,
                                       value, before));
}

Operator conv_transpose(std::size_t rank, const std::string& spatial, const std::string& kernel,
                        Result<std::vector<Algorithm>> (*build)(const Values&)) {
  const std::string each = one_or_each(rank);
  return {fmt::format("conv_transpose{}d", rank),
          fmt::format("transposed {}-D convolution of X[n,c,{}] with the constant W[c,o/groups,{}]",
                      rank, spatial, kernel),
          {{Kind::kDims, "input", "", "shape of the input: n,c," + spatial},
           {Kind::kDims, "weight", "", "shape of the constant weight: c,o/groups," + kernel},
           {Kind::kInts, "stride", "1", each},
           pad_parameter(rank, "outputs left out at the ends"),
           {Kind::kInts, "output-padding", "0", "outputs more at the far end: " + each},
           {Kind::kInts, "dilation", "1", "distance of the taps: " + each},
           {Kind::kInt, "groups", "1", "channels are convolved in that many separate groups"},
           dtype_parameter(),
           epilogue_parameter()},
          build};
}

}  // namespace

Operator conv_transpose1d() { return conv_transpose(1, "w", "kw", build_transpose<1>); }
Operator conv_transpose2d() { return conv_transpose(2, "h,w", "kh,kw", build_transpose<2>); }
Operator conv_transpose3d() { return conv_transpose(3, "d,h,w", "kd,kh,kw", build_transpose<3>); }

}  // namespace lathe::ops
