#include "graph/ir/graph.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "compiler/interp/te_elements.h"

namespace lathe::graph {

std::int64_t elements_of(const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
    if (elements > kMost / size) elements = kMost;
    else elements *= size;
  }
  return elements;
}

std::string typed(Dtype dtype, const Shape& shape) {
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(shape, ","));
}

bool overlap(const Range& a, const Range& b) {
  return a.storage == b.storage && a.begin < b.end && b.begin < a.end;
}

Range Graph::range_of(int id) const {
  std::int64_t begin = 0;
  const std::int64_t elements = value(id).elements();
  for (; value(id).view_of; id = *value(id).view_of) begin += value(id).begin;
  return {id, begin, begin + elements};
}

std::vector<double> numbers_of(const Value& constant) {
  LATHE_CHECK(constant.constant.has_value());
  const auto size = static_cast<std::size_t>(size_of(constant.dtype));
  std::vector<double> numbers(constant.constant->bytes.size() / size);
  for (std::size_t e = 0; e < numbers.size(); ++e)
    numbers[e] = load_element(constant.dtype, constant.constant->bytes.data() + e * size);
  return numbers;
}

void drop_unused(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  std::vector<std::vector<Range>> needed(graph.values.size());  // by value that is no view
  const auto use = [&](int id) {
    const Range range = graph.range_of(id);
    needed[place(range.storage)].push_back(range);
    for (used[place(id)] = true; graph.value(id).view_of; used[place(id)] = true)
      id = *graph.value(id).view_of;
  };
  for (const int id : graph.outputs) use(id);
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const auto is_needed = [&](int id) {
      const Range made = graph.range_of(id);
      return std::ranges::any_of(needed[place(made.storage)],
                                 [&](const Range& range) { return overlap(range, made); });
    };
    if (std::ranges::none_of(node->outputs, is_needed)) continue;
    for (const int id : node->inputs) use(id);
    for (const int id : node->outputs) use(id);
    kept.push_back(std::move(*node));
  }
  for (const int id : graph.inputs) use(id);
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
  std::vector<int> number(graph.values.size(), -1);
  std::vector<Value> values;
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    if (!used[id]) continue;
    number[id] = static_cast<int>(values.size());
    values.push_back(std::move(graph.values[id]));
  }
  graph.values = std::move(values);
  for (Value& value : graph.values)
    if (value.view_of) value.view_of = number[place(*value.view_of)];
  const auto renumber = [&](std::vector<int>& ids) {
    for (int& id : ids) id = number[place(id)];
  };
  renumber(graph.inputs);
  renumber(graph.outputs);
  for (Node& node : graph.nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
}

std::optional<std::vector<std::vector<double>>> evaluate(
    const te::Workload& expression, const std::vector<std::vector<double>>& inputs,
    std::int64_t most_terms) {
  interp::Elements elements(
      expression, std::vector<std::span<const double>>(inputs.begin(), inputs.end()), most_terms);
  std::vector<std::vector<double>> outputs;
  for (const int output : expression.outputs()) {
    const te::Tensor& tensor = expression.tensors[static_cast<std::size_t>(output)];
    const std::int64_t count = elements_of(tensor.shape);
    if (count > most_terms) return std::nullopt;
    std::vector<double>& values = outputs.emplace_back();
    for (std::int64_t e = 0; e < count; ++e) {
      const auto value = elements.at(output, e);
      if (!value) return std::nullopt;
      std::byte rounded[sizeof(double)];
      store_element(tensor.dtype, rounded, value->value);
      values.push_back(load_element(tensor.dtype, rounded));
    }
  }
  return outputs;
}

}  // namespace lathe::graph
