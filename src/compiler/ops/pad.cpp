#include "compiler/ops/pad.h"

#include <algorithm>
#include <array>

#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

// What stands beyond the ends.
enum class Beyond { kConstant, kEdge, kReflect, kSymmetric, kWrap };
constexpr std::array<std::string_view, 5> kBeyond = {"constant", "edge", "reflect", "symmetric",
                                                     "wrap"};

// A dimension of X of which `kept` elements are left, from `begin` on, with others around them.
struct PaddedAxis {
  std::int64_t begin, kept, before, after;

  std::int64_t size() const { return before + kept + after; }
};

PaddedAxis padded_axis(std::int64_t size, std::int64_t before, std::int64_t after) {
  const std::int64_t begin = std::max<std::int64_t>(-before, 0);
  return {begin, size - begin - std::max<std::int64_t>(-after, 0),
          std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0)};
}

// "(i2 + 3)"
std::string plus(std::string_view iterator, std::int64_t offset) {
  if (offset == 0) return std::string(iterator);
  return fmt::format("({} {} {})", iterator, offset < 0 ? '-' : '+', std::abs(offset));
}

// Where on X the element i of an axis comes from: before the kept ones, among them, behind them.
struct Sources {
  std::string before, among, behind;
};
Sources sources_of(Beyond beyond, const PaddedAxis& axis, const std::string& i) {
  const auto [begin, kept, before, after] = axis;
  const auto mirrored = [&](std::int64_t at) { return fmt::format("{} - {}", at, i); };
  const std::int64_t last = begin + kept - 1, apart = beyond == Beyond::kReflect ? 0 : 1;
  Sources out{"", plus(i, begin - before), ""};
  if (beyond == Beyond::kEdge) {
    out.before = std::to_string(begin);
    out.behind = std::to_string(last);
  } else if (beyond == Beyond::kWrap) {
    out.before = plus(i, begin - before + kept);
    out.behind = plus(i, begin - before - kept);
  } else {
    out.before = mirrored(before + begin - apart);
    out.behind = mirrored(before + kept - 1 + last + apart);
  }
  return out;
}

// The same place as one index.
std::string source_of(Beyond beyond, const PaddedAxis& axis, const std::string& i) {
  const auto [begin, kept, before, after] = axis;
  if (beyond == Beyond::kWrap && (before > 0 || after > 0)) {
    const std::int64_t turns = (before + kept - 1) / kept;
    const std::string place = fmt::format("{} % {}", plus(i, turns * kept - before), kept);
    return begin == 0 ? place : fmt::format("{} + {}", place, begin);
  }
  const Sources sources = sources_of(beyond, axis, i);
  std::string out = sources.among;
  if (before > 0) out = fmt::format("max({}, {})", out, sources.before);
  if (after > 0) out = fmt::format("min({}, {})", out, sources.behind);
  // Mirrored places are proven to be inside by the ends.
  return out == sources.among || beyond == Beyond::kEdge
             ? out
             : fmt::format("min(max({}, {}), {})", out, begin, begin + kept - 1);
}

Status check_width(Beyond beyond, const PaddedAxis& axis, std::size_t dimension) {
  const std::int64_t most = axis.kept - (beyond == Beyond::kReflect ? 1 : 0),
                     asked = std::max(axis.before, axis.after);
  if ((beyond != Beyond::kReflect && beyond != Beyond::kSymmetric) || asked <= most) return {};
  return Values::error("pad",
                       "dimension {} has {} elements, of which {} puts at most {} beyond an end, "
                       "and {} are asked for; edge and wrap give any number",
                       dimension, axis.kept, kBeyond[static_cast<std::size_t>(beyond)], most,
                       asked);
}

Result<std::vector<PaddedAxis>> padded_axes(const Values& values, Beyond beyond) {
  const auto& shape = values.numbers("input");
  const auto& given = values.numbers("pad");
  const std::size_t rank = shape.size();
  if (given.size() != 1 && given.size() != rank && given.size() != 2 * rank)
    return Values::error("pad",
                         "one value, {0} (one for each dimension of [{1}]) or {2} (all at the "
                         "beginnings, then all at the ends) are needed, {3} are given",
                         rank, fmt::join(shape, ","), 2 * rank, given.size());
  std::vector<PaddedAxis> axes;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t before = given[given.size() == 1 ? 0 : d],
                       after = given.size() == 2 * rank ? given[rank + d] : before;
    axes.push_back(padded_axis(shape[d], before, after));
    const bool value_alone = beyond == Beyond::kConstant && before + shape[d] + after > 0;
    if (axes.back().kept < 1 && !value_alone)
      return Values::error("pad", "nothing is left of the {} elements along dimension {}", shape[d],
                           d);
    LATHE_TRY_STATUS(check_width(beyond, axes.back(), d));
  }
  return axes;
}

// Along the last dimension three reads, each of which goes through X step by step, are faster than
// one at a place that is computed.
std::string copied(Beyond beyond, const std::vector<PaddedAxis>& axes, Dtype dtype) {
  std::vector<std::string> index;
  for (std::size_t d = 0; d < axes.size(); ++d)
    index.push_back(source_of(beyond, axes[d], fmt::format("i{}", d)));
  const PaddedAxis& last = axes.back();
  const bool turns = beyond == Beyond::kWrap && std::max(last.before, last.after) > last.kept;
  if (turns || (last.before == 0 && last.after == 0))
    return fmt::format("X[{}]", fmt::join(index, ","));
  const std::string i = fmt::format("i{}", axes.size() - 1);
  const Sources sources = sources_of(beyond, last, i);
  const auto read = [&](const std::string& at) {
    index.back() = at;
    return fmt::format("X[{} else {}]", fmt::join(index, ","),
                       dtype == Dtype::kBool ? "false" : "0");
  };
  std::string out = read(sources.among);
  if (last.after > 0)
    out = fmt::format("select({} < {}, {}, {})", i, last.before + last.kept, out,
                      read(sources.behind));
  if (last.before > 0)
    out = fmt::format("select({} < {}, {}, {})", i, last.before, read(sources.before), out);
  return out;
}

std::string surrounded(const std::vector<PaddedAxis>& axes, const std::string& value) {
  std::vector<std::string> index;
  bool outside = false;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    index.push_back(plus(fmt::format("i{}", d), axes[d].begin - axes[d].before));
    outside |= axes[d].before > 0 || axes[d].after > 0;
  }
  return fmt::format("X[{}{}]", fmt::join(index, ","), outside ? " else " + value : "");
}

Result<std::vector<Algorithm>> build_pad(const Values& values) {
  const Dtype dtype = LATHE_TRY(copied_of(values));
  const Beyond beyond = LATHE_TRY(one_of<Beyond>(values, "mode", kBeyond));
  const std::string value = LATHE_TRY(number_text(values, "value", dtype));
  if (beyond != Beyond::kConstant && values.text("value") != "0")
    return Values::error("value", "only --mode constant has it");
  const auto axes = LATHE_TRY(padded_axes(values, beyond));
  std::vector<std::string> iters;
  for (std::size_t d = 0; d < axes.size(); ++d)
    iters.push_back(fmt::format("i{}:{}", d, axes[d].size()));
  return direct(parsed(
      "pad", fmt::format("{}\nY[{}] = {}\n", typed(shaped("X", values.numbers("input")), dtype),
                         fmt::join(iters, ","),
                         beyond == Beyond::kConstant ? surrounded(axes, value)
                                                     : copied(beyond, axes, dtype))));
}

}  // namespace

Operator pad() {
  return {"pad",
          "X with more around it",
          {{Kind::kDims, "input", "", "shape of the input"},
           {Kind::kOffsets, "pad", "",
            "elements more: one value, one for each dimension, or all at the beginnings and then "
            "all at the ends; negative ones take elements of X away, before others are added"},
           {Kind::kText, "mode", "constant",
            "what they are: constant (--value), edge (the nearest element), reflect (X mirrored at "
            "its first and last elements), symmetric (mirrored between the end and what is beyond) "
            "or wrap (X again)"},
           {Kind::kText, "value", "0", "of constant: a number, inf or -inf"},
           copied_parameter()},
          build_pad};
}

}  // namespace lathe::ops
