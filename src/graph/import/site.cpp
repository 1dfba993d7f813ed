#include "graph/import/site.h"

#include <algorithm>

#include "compiler/interp/scalar.h"
#include "compiler/te/parse.h"

namespace lathe::graph {
namespace {

// What is computed while a model is read takes a moment: larger constants stay nodes.
constexpr std::int64_t kMostTerms = 100'000;

using Kind = onnx::Attribute::Kind;

}  // namespace

int Site::input(std::size_t input) const {
  LATHE_CHECK(has(input), "input {} of {}", input, node_.op);
  return inputs_[input];
}

Result<std::vector<double>> Site::known(std::size_t i, std::string_view what) const {
  if (!at(i).constant)
    return unsupported(
        "its {} depend on data (input '{}'); only what is constant or follows from "
        "shapes can be read",
        what, at(i).name);
  return numbers_of(at(i));
}

Result<std::vector<std::int64_t>> Site::known_integers(std::size_t i, std::string_view what) const {
  const auto numbers = LATHE_TRY(known(i, what));
  if (is_float(dtype(i)))
    return wrong("its {} are {}, and must be integers", what, name_of(dtype(i)));
  std::vector<std::int64_t> integers(numbers.size());
  std::ranges::transform(numbers, integers.begin(), interp::whole);
  return integers;
}

const onnx::Attribute* Site::attribute(std::string_view name) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? nullptr : &found->second;
}

Result<std::int64_t> Site::integer(std::string_view name, std::int64_t fallback) const {
  const auto* found = attribute(name);
  if (!found) return fallback;
  if (found->kind != Kind::kInt) return wrong("its attribute '{}' is no integer", name);
  return found->integer;
}

Result<double> Site::real(std::string_view name, double fallback) const {
  const auto* found = attribute(name);
  if (!found) return fallback;
  if (found->kind != Kind::kFloat) return wrong("its attribute '{}' is no number", name);
  return found->real;
}

Result<std::string> Site::text(std::string_view name, const std::string& fallback) const {
  const auto* found = attribute(name);
  if (!found) return fallback;
  if (found->kind != Kind::kString) return wrong("its attribute '{}' is no text", name);
  return found->text;
}

Result<std::vector<std::int64_t>> Site::integers(std::string_view name,
                                                 std::vector<std::int64_t> fallback) const {
  const auto* found = attribute(name);
  if (!found) return fallback;
  if (found->kind != Kind::kInts) return wrong("its attribute '{}' is no list of integers", name);
  return found->integers;
}

Result<std::size_t> Site::axis(std::int64_t given, std::size_t rank, bool behind) const {
  const auto dims = static_cast<std::int64_t>(rank);
  if (given < -dims || given > dims - (behind ? 0 : 1))
    return wrong("axis {} is none of its {} dimensions", given, rank);
  return static_cast<std::size_t>(given < 0 ? given + dims : given);
}

Result<std::vector<std::size_t>> Site::axes(const std::vector<std::int64_t>& given,
                                            std::size_t rank) const {
  std::vector<std::size_t> axes;
  for (const std::int64_t each : given) axes.push_back(LATHE_TRY(axis(each, rank)));
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) return wrong("it names an axis twice");
  return axes;
}

std::string Site::fresh_name() {
  const auto made = std::ranges::find_if(node_.outputs, [](const auto& o) { return !o.empty(); });
  return fmt::format("{}#{}", made == node_.outputs.end() ? node_.name : *made,
                     graph_.values.size());
}

int Site::add(Value value) {
  value.name = fresh_name();
  graph_.values.push_back(std::move(value));
  return static_cast<int>(graph_.values.size()) - 1;
}

int Site::constant(Dtype dtype, Shape shape, Data data) {
  return add({"", dtype, std::move(shape), std::move(data), {}});
}

int Site::constant(Dtype dtype, Shape shape, std::span<const double> elements) {
  return constant(dtype, std::move(shape), Data::of(dtype, elements));
}

int Site::view(int value, Shape shape) {
  const Value& of = graph_.value(value);
  LATHE_CHECK(elements_of(shape) == of.elements());
  if (of.constant) return constant(of.dtype, std::move(shape), *of.constant);
  return add({"", of.dtype, std::move(shape), {}, value});
}

Result<int> Site::part(int value, std::int64_t begin, Shape shape) {
  const Value& of = graph_.value(value);
  const std::int64_t count = elements_of(shape);
  LATHE_CHECK(begin >= 0 && count <= of.elements() - begin);
  if (count == of.elements()) return view(value, std::move(shape));
  if (of.constant) {
    const auto size = static_cast<std::size_t>(size_of(of.dtype));
    Data data = *of.constant;
    data.bytes = data.bytes.subspan(static_cast<std::size_t>(begin) * size,
                                    static_cast<std::size_t>(count) * size);
    return constant(of.dtype, std::move(shape), std::move(data));
  }
  return LATHE_TRY(call("slice",
                        {{"input", std::to_string(of.elements())},
                         {"begin", std::to_string(begin)},
                         {"end", std::to_string(begin + count)},
                         {"dtype", std::string(name_of(of.dtype))}},
                        {value}, std::move(shape)))[0];
}

std::optional<std::vector<int>> Site::folded(const te::Workload& expression,
                                             const std::vector<int>& inputs,
                                             const std::vector<Shape>& shapes) {
  std::vector<std::vector<double>> numbers;
  for (const int id : inputs) {
    if (!value(id).constant) return std::nullopt;
    if (value(id).elements() > kMostTerms) return std::nullopt;
  }
  for (const int id : inputs) numbers.push_back(numbers_of(value(id)));
  const auto outputs = evaluate(expression, numbers, kMostTerms);
  if (!outputs) return std::nullopt;
  std::vector<int> ids;
  const std::vector<int> tensors = expression.outputs();
  for (std::size_t o = 0; o < tensors.size(); ++o)
    ids.push_back(constant(expression.tensors[static_cast<std::size_t>(tensors[o])].dtype,
                           shapes[o], (*outputs)[o]));
  return ids;
}

Made Site::compute(te::Workload expression, const std::vector<int>& inputs,
                   std::optional<Shape> shape) {
  const std::vector<int> reads = expression.inputs(), writes = expression.outputs();
  LATHE_CHECK(reads.size() == inputs.size(), "{} of {}", node_.op, reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    te::Tensor& tensor = expression.tensors[static_cast<std::size_t>(reads[i])];
    tensor.constant = value(inputs[i]).constant.has_value();
    LATHE_CHECK(tensor.dtype == value(inputs[i]).dtype &&
                    elements_of(tensor.shape) == value(inputs[i]).elements(),
                "{} reads {}", node_.op, tensor.name);
  }
  std::vector<Shape> shapes;
  for (const int id : writes)
    shapes.push_back(expression.tensors[static_cast<std::size_t>(id)].shape_at_border());
  if (shape) {
    LATHE_CHECK(shapes.size() == 1 && elements_of(*shape) == elements_of(shapes[0]), "{} makes {}",
                node_.op, typed(Dtype::kF32, shapes[0]));
    shapes[0] = std::move(*shape);
  }
  if (auto ids = folded(expression, inputs, shapes)) return *ids;
  std::vector<int> ids;
  for (std::size_t o = 0; o < writes.size(); ++o)
    ids.push_back(add(
        {"", expression.tensors[static_cast<std::size_t>(writes[o])].dtype, shapes[o], {}, {}}));
  const auto made = std::ranges::find_if(node_.outputs, [](const auto& o) { return !o.empty(); });
  graph_.nodes.push_back(
      {std::move(expression), inputs, ids, node_.name.empty() ? *made : node_.name, node_.op});
  return ids;
}

Made Site::write(const std::string& text, const std::vector<int>& inputs,
                 std::optional<Shape> shape) {
  auto expression = te::parse_workload(text);
  if (!expression) return unsupported("{}", expression.error().message);
  return compute(std::move(*expression), inputs, std::move(shape));
}

Made Site::call(std::string_view op, ops::Arguments arguments, const std::vector<int>& inputs,
                std::optional<Shape> shape) {
  auto built = ops::build(op, arguments);
  if (!built) return unsupported("{}", built.error().text());
  return compute(std::move(built->front().workload), inputs, std::move(shape));
}

Made Site::body(std::string_view attribute, const std::vector<int>& inputs) {
  const auto* found = this->attribute(attribute);
  if (!found || !found->graph) return wrong("its attribute '{}' is no graph", attribute);
  return make_body_(*found->graph, inputs);
}

}  // namespace lathe::graph
