// Operators that move nothing, and those that are known from shapes.
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

constexpr std::int64_t kMostMade = 1 << 22;  // elements of a constant that is made here

Made seen_as(Site& site, Shape shape) {
  if (elements_of(shape) != site.at(0).elements())
    return site.wrong("its input is {}, and cannot be seen as [{}]",
                      typed(site.dtype(0), site.shape(0)), fmt::join(shape, ","));
  return std::vector<int>{site.view(site.input(0), std::move(shape))};
}

Made identity(Site& site) { return std::vector<int>{site.view(site.input(0), site.shape(0))}; }

Made dropout(Site& site) {
  if (site.has(2)) {
    const auto training = LATHE_TRY(site.known(2, "training modes"));
    const bool drops = !site.has(1) || LATHE_TRY(site.known(1, "ratios")) != std::vector<double>{0};
    if (!training.empty() && training[0] != 0 && drops)
      return site.unsupported("it drops elements at random, as in training");
  }
  std::vector<int> ids{site.view(site.input(0), site.shape(0))};
  if (!site.wants(1)) return ids;
  if (site.at(0).elements() > kMostMade)
    return site.unsupported("its mask has {} elements", site.at(0).elements());
  const std::vector<double> mask(static_cast<std::size_t>(site.at(0).elements()), 1);
  ids.push_back(site.constant(Dtype::kBool, site.shape(0), mask));
  return ids;
}

Made constant(Site& site) {
  using Kind = onnx::Attribute::Kind;
  for (const char* name : {"value", "value_float", "value_int", "value_floats", "value_ints"}) {
    const auto* given = site.attribute(name);
    if (!given) continue;
    if (given->kind == Kind::kFloat)
      return std::vector<int>{site.constant(Dtype::kF32, {}, std::vector{given->real})};
    if (given->kind == Kind::kFloats)
      return std::vector<int>{site.constant(
          Dtype::kF32, {static_cast<std::int64_t>(given->reals.size())}, given->reals)};
    if (given->kind == Kind::kInt || given->kind == Kind::kInts) {
      const bool one = given->kind == Kind::kInt;
      const std::vector<std::int64_t> values = one ? std::vector{given->integer} : given->integers;
      const auto bytes = std::as_bytes(std::span(values));
      return std::vector<int>{site.constant(
          Dtype::kI64, one ? Shape{} : Shape{static_cast<std::int64_t>(values.size())},
          Data::own({bytes.begin(), bytes.end()}))};
    }
    if (given->kind != Kind::kTensor) return site.wrong("its attribute '{}' is no tensor", name);
    const auto dtype = onnx::dtype_of(given->tensor->type);
    if (!dtype) return site.unsupported("its value is of {}", onnx::type_name(given->tensor->type));
    return std::vector<int>{site.constant(*dtype, given->tensor->shape, given->tensor->data)};
  }
  return site.unsupported("its value is a text or a sparse tensor, or there is none");
}

Made reshape(Site& site) {
  auto shape = LATHE_TRY(site.known_integers(1, "sizes"));
  const bool zeros = LATHE_TRY(site.integer("allowzero", 0)) != 0;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !zeros) {
      if (d >= site.shape(0).size()) return site.wrong("size {} copies one that is not there", d);
      shape[d] = site.shape(0)[d];
    }
    if (shape[d] == -1 && open) return site.wrong("two of its sizes are -1");
    if (shape[d] < -1) return site.wrong("a size is {}", shape[d]);
    if (shape[d] == -1) open = d;
    else known = elements_of({known, shape[d]});
  }
  if (open && (known == 0 || site.at(0).elements() % known != 0))
    return site.wrong("its input is {}, and cannot be seen as [{}]",
                      typed(site.dtype(0), site.shape(0)), fmt::join(shape, ","));
  if (open) shape[*open] = site.at(0).elements() / known;
  return seen_as(site, std::move(shape));
}

Made flatten(Site& site) {
  const std::size_t axis =
      LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 1)), site.shape(0).size(), true));
  const auto begin = site.shape(0).begin(), middle = begin + static_cast<std::ptrdiff_t>(axis);
  return seen_as(site, {elements_of({begin, middle}), elements_of({middle, site.shape(0).end()})});
}

// Axes are an attribute, and an input from version 13 on.
Result<std::optional<std::vector<std::int64_t>>> given_axes(const Site& site) {
  if (site.has(1)) return LATHE_TRY(site.known_integers(1, "axes"));
  if (site.given("axes")) return LATHE_TRY(site.integers("axes", {}));
  return std::nullopt;
}

Made squeeze(Site& site) {
  const auto given = LATHE_TRY(given_axes(site));
  std::vector<std::size_t> axes;
  if (given) axes = LATHE_TRY(site.axes(*given, site.shape(0).size()));
  Shape shape;
  for (std::size_t d = 0; d < site.shape(0).size(); ++d) {
    const std::int64_t size = site.shape(0)[d];
    const bool named = std::ranges::binary_search(axes, d);
    if (named && size != 1)
      return site.wrong("it leaves out dimension {}, whose size is {}", d, size);
    if (given ? !named : size != 1) shape.push_back(size);
  }
  return seen_as(site, std::move(shape));
}

Made unsqueeze(Site& site) {
  const auto given = LATHE_TRY(given_axes(site));
  if (!given) return site.wrong("it has no axes");
  const std::size_t rank = site.shape(0).size() + given->size();
  const auto axes = LATHE_TRY(site.axes(*given, rank));
  Shape shape = site.shape(0);
  for (const std::size_t axis : axes)
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return seen_as(site, std::move(shape));
}

Made shape_of(Site& site) {
  const auto rank = static_cast<std::int64_t>(site.shape(0).size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = place(LATHE_TRY(site.integer("start", 0))),
                     end = place(LATHE_TRY(site.integer("end", rank)));
  std::vector<double> sizes;
  for (std::int64_t d = start; d < end; ++d)
    sizes.push_back(static_cast<double>(site.shape(0)[static_cast<std::size_t>(d)]));
  return std::vector<int>{
      site.constant(Dtype::kI64, {static_cast<std::int64_t>(sizes.size())}, sizes)};
}

Made size_of_input(Site& site) {
  return std::vector<int>{
      site.constant(Dtype::kI64, {}, std::vector{static_cast<double>(site.at(0).elements())})};
}

Made constant_of_shape(Site& site) {
  const auto shape = LATHE_TRY(site.known_integers(0, "sizes"));
  if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; }))
    return site.wrong("a size is negative: [{}]", fmt::join(shape, ","));
  Dtype dtype = Dtype::kF32;
  double value = 0;
  if (const auto* given = site.attribute("value"); given && given->tensor) {
    const auto type = onnx::dtype_of(given->tensor->type);
    if (!type) return site.unsupported("its value is of {}", onnx::type_name(given->tensor->type));
    if (given->tensor->data.bytes.size() != static_cast<std::size_t>(lathe::size_of(*type)))
      return site.wrong("its value is not one element");
    dtype = *type;
    value = load_element(dtype, given->tensor->data.bytes.data());
  }
  if (elements_of(shape) > kMostMade) return site.unsupported("it makes {}", typed(dtype, shape));
  return std::vector<int>{site.constant(
      dtype, shape, std::vector<double>(static_cast<std::size_t>(elements_of(shape)), value))};
}

Made range(Site& site) {
  std::vector<double> given;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = LATHE_TRY(site.known(i, "ends and steps"));
    if (number.size() != 1) return site.wrong("its input {} is not one number", i);
    given.push_back(number[0]);
  }
  const double start = given[0], limit = given[1], step = given[2];
  if (step == 0) return site.wrong("its step is 0");
  const double count = std::max(0.0, std::ceil((limit - start) / step));
  if (!(count <= static_cast<double>(kMostMade)))
    return site.unsupported("it makes {} numbers", count);
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (std::size_t e = 0; e < numbers.size(); ++e)
    numbers[e] = start + static_cast<double>(e) * step;
  return std::vector<int>{
      site.constant(site.dtype(0), {static_cast<std::int64_t>(numbers.size())}, numbers)};
}

Made eye_like(Site& site) {
  const auto* type = site.attribute("dtype");
  const auto dtype = type ? onnx::dtype_of(static_cast<int>(type->integer)) : site.dtype(0);
  if (!dtype || site.shape(0).size() != 2) return site.unsupported("its type or rank");
  const std::int64_t k = LATHE_TRY(site.integer("k", 0)), rows = site.shape(0)[0],
                     columns = site.shape(0)[1];
  if (site.at(0).elements() > kMostMade)
    return site.unsupported("it makes {}", typed(*dtype, site.shape(0)));
  std::vector<double> values(static_cast<std::size_t>(rows * columns), 0);
  for (std::int64_t i = 0; i < rows; ++i)
    if (i + k >= 0 && i + k < columns) values[static_cast<std::size_t>(i * columns + i + k)] = 1;
  return std::vector<int>{site.constant(*dtype, site.shape(0), values)};
}

// Of what is known: how many there are depends on the data.
Made places_of_others(Site& site) {
  const auto numbers = LATHE_TRY(site.known(0, "numbers"));
  const Shape shape = at_least_1d(site.shape(0));
  std::vector<std::int64_t> places;
  for (std::size_t e = 0; e < numbers.size(); ++e)
    if (numbers[e] != 0) places.push_back(static_cast<std::int64_t>(e));
  std::vector<double> coordinates;
  std::int64_t step = elements_of(shape);
  for (const std::int64_t size : shape) {
    step /= std::max<std::int64_t>(size, 1);
    for (const std::int64_t place : places)
      coordinates.push_back(static_cast<double>(place / step % size));
  }
  return std::vector<int>{
      site.constant(Dtype::kI64, {std::ssize(shape), std::ssize(places)}, coordinates)};
}

}  // namespace

std::vector<Row> shape_rows() {
  return {{"Identity", 1, 1, identity},
          {"Dropout", 7, 1, dropout},
          {"Constant", 1, 0, constant},
          {"Reshape", 5, 2, reshape},
          {"Flatten", 1, 1, flatten},
          {"Squeeze", 1, 1, squeeze},
          {"Unsqueeze", 1, 1, unsqueeze},
          {"Shape", 1, 1, shape_of},
          {"Size", 1, 1, size_of_input},
          {"ConstantOfShape", 9, 1, constant_of_shape},
          {"Range", 11, 3, range},
          {"EyeLike", 9, 1, eye_like},
          {"NonZero", 9, 1, places_of_others}};
}

}  // namespace lathe::graph
