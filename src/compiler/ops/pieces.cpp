#include "compiler/ops/pieces.h"

#include <algorithm>

#include "base/split.h"
#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

// Writes an index of the dimension d of an input: "2*i1 - 3".
std::string moved(std::size_t d, std::int64_t step, std::int64_t offset) {
  std::string text = step == 1 ? fmt::format("i{}", d) : fmt::format("{}*i{}", step, d);
  if (offset != 0) text += fmt::format(" {} {}", offset < 0 ? '-' : '+', std::abs(offset));
  return text;
}

std::string sized_iters(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape.size(); ++d) out.push_back(fmt::format("i{}:{}", d, shape[d]));
  return fmt::format("{}", fmt::join(out, ","));
}

struct Slice {
  std::int64_t begin = 0, step = 1, count = 0;
};

// As Python has it: what is negative counts from the end, and ends beyond the tensor are its own.
Slice slice_of(std::int64_t size, std::optional<std::int64_t> begin,
               std::optional<std::int64_t> end, std::int64_t step) {
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto place = [&](std::optional<std::int64_t> at, std::int64_t otherwise) {
    return at ? std::clamp(*at < 0 ? *at + size : *at, low, high) : otherwise;
  };
  const std::int64_t first = place(begin, step > 0 ? low : high),
                     last = place(end, step > 0 ? high : low);
  const std::int64_t way = step > 0 ? last - first : first - last, by = std::abs(step);
  return {first, step, way > 0 ? (way - 1) / by + 1 : 0};
}

// The dimensions in the order in which they are given: that of their values.
Result<std::vector<std::size_t>> axes_in_order(const Values& values,
                                               const std::vector<std::int64_t>& shape) {
  std::vector<std::size_t> axes = LATHE_TRY(values.axes("axes", shape));
  if (!values.has("axes")) return axes;
  std::ranges::transform(values.numbers("axes"), axes.begin(), [&](std::int64_t axis) {
    return static_cast<std::size_t>(axis < 0 ? axis + std::ssize(shape) : axis);
  });
  return axes;
}

// One value for each of the axes, or none where words stand for it.
Result<std::vector<std::int64_t>> for_each_axis(const Values& values, std::string_view name,
                                                const std::vector<std::size_t>& axes) {
  if (!values.has(name)) return std::vector<std::int64_t>{};
  std::vector<std::int64_t> out = values.numbers(name);
  if (out.size() == 1) out.resize(axes.size(), out.front());
  if (out.size() == axes.size()) return out;
  return Values::error(
      name, "one value, or one for each of the {} dimensions {}, are needed, {} are given",
      axes.size(), fmt::join(axes, ","), out.size());
}

Result<std::vector<Algorithm>> build_slice(const Values& values) {
  const Dtype dtype = LATHE_TRY(copied_of(values));
  const auto& shape = values.numbers("input");
  const auto axes = LATHE_TRY(axes_in_order(values, shape));
  const auto begins = LATHE_TRY(for_each_axis(values, "begin", axes)),
             ends = LATHE_TRY(for_each_axis(values, "end", axes)),
             steps = LATHE_TRY(for_each_axis(values, "step", axes));
  std::vector<std::int64_t> output = shape;
  std::vector<std::string> index;
  for (std::size_t d = 0; d < shape.size(); ++d) index.push_back(moved(d, 1, 0));
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (steps[a] == 0) return Values::error("step", "a step of 0 leads nowhere; give 1, or -1");
    const auto at = [&](const std::vector<std::int64_t>& of) {
      return of.empty() ? std::nullopt : std::optional(of[a]);
    };
    const std::size_t d = axes[a];
    const Slice slice = slice_of(shape[d], at(begins), at(ends), steps[a]);
    if (slice.count == 0)
      return Values::error(
          begins.empty() ? "end" : "begin",
          "the slice of dimension {} of [{}] is empty: with the step {} nothing is from {} to "
          "before {}",
          d, fmt::join(shape, ","), steps[a],
          begins.empty() ? "its start" : fmt::to_string(begins[a]),
          ends.empty() ? "its end" : fmt::to_string(ends[a]));
    output[d] = slice.count;
    index[d] = moved(d, slice.step, slice.begin);
  }
  return direct(parsed("slice", fmt::format("{}\nY[{}] = X[{}]\n", typed(shaped("X", shape), dtype),
                                            sized_iters(output), fmt::join(index, ","))));
}

Result<std::vector<std::vector<std::int64_t>>> shapes_of(const std::string& text) {
  std::vector<std::vector<std::int64_t>> out;
  for (const std::string& shape : split(text, ';')) {
    out.emplace_back();
    for (const std::string& part : split(shape, ',')) {
      const auto size = parse_integer(part, 1);
      if (!size)
        return Values::error("inputs", "{}; write the shapes as '2,3,4;2,5,4', one for each input",
                             size.error().message);
      out.back().push_back(*size);
    }
  }
  return out;
}

// The element at `axis` of what the inputs [first, last) hold side by side, from `begin` on: of one
// of the halves. So an element takes few comparisons, and no read is added to another.
std::string joined(const std::vector<std::string>& reads, const std::vector<std::int64_t>& begins,
                   std::size_t axis, std::size_t first, std::size_t last) {
  if (last - first == 1) return reads[first];
  const std::size_t middle = (first + last) / 2;
  return fmt::format("select(i{} < {}, {}, {})", axis, begins[middle],
                     joined(reads, begins, axis, first, middle),
                     joined(reads, begins, axis, middle, last));
}

constexpr std::size_t kMostInputs = 256;

Result<std::vector<Algorithm>> build_concat(const Values& values) {
  const Dtype dtype = LATHE_TRY(copied_of(values));
  const auto shapes = LATHE_TRY(shapes_of(values.text("inputs")));
  if (shapes.size() > kMostInputs)
    return Values::error("inputs", "{} are given, {} are possible", shapes.size(), kMostInputs);
  const auto axes = LATHE_TRY(values.axes("axis", shapes.front()));
  if (axes.size() != 1)
    return Values::error("axis", "one dimension is needed, {} are given", axes.size());
  const std::size_t axis = axes.front();
  std::vector<std::int64_t> output = shapes.front();
  output[axis] = 0;
  std::string text;
  std::vector<std::string> reads;
  std::vector<std::int64_t> begins;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<std::int64_t> alike = shapes[i];
    if (alike.size() == output.size()) alike[axis] = shapes.front()[axis];
    if (alike != shapes.front())
      return Values::error("inputs", "[{}] and [{}] differ in more than dimension {}",
                           fmt::join(shapes.front(), ","), fmt::join(shapes[i], ","), axis);
    std::vector<std::string> index;
    for (std::size_t d = 0; d < output.size(); ++d)
      index.push_back(moved(d, 1, d == axis ? -output[axis] : 0));
    const char* outside = dtype == Dtype::kBool ? " else false" : " else 0";
    reads.push_back(
        fmt::format("X{}[{}{}]", i, fmt::join(index, ","), shapes.size() > 1 ? outside : ""));
    begins.push_back(output[axis]);
    output[axis] += shapes[i][axis];
    text += typed(shaped(fmt::format("X{}", i), shapes[i]), dtype) + "\n";
  }
  return direct(parsed("concat", fmt::format("{}Y[{}] = {}\n", text, sized_iters(output),
                                             joined(reads, begins, axis, 0, reads.size()))));
}

}  // namespace

Operator slice() {
  return {
      "slice",
      "elements of X at even distances along some dimensions, as X[BEGIN:END:STEP] in Python",
      {{Kind::kDims, "input", "", "shape of the input"},
       {Kind::kOffsets, "begin", "start",
        "the first ones, counted from the end where they are negative: one value, or one for "
        "each dimension in --axes"},
       {Kind::kOffsets, "end", "end", "the first ones that are left out, likewise"},
       {Kind::kOffsets, "step", "1", "from one to the next, likewise; negative ones go back"},
       {Kind::kAxes, "axes", "all", "dimensions that these are for: 0 is the first, -1 the last"},
       copied_parameter()},
      build_slice};
}

Operator concat() {
  return {"concat",
          "several tensors side by side along a dimension",
          {{Kind::kText, "inputs", "", "their shapes: '2,3,4;2,5,4'; needed"},
           {Kind::kAxes, "axis", "0", "the dimension along which they are joined; -1 is the last"},
           copied_parameter()},
          build_concat};
}

}  // namespace lathe::ops
