#include "graph/passes/narrow.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/te/recurrence.h"

namespace lathe::graph {
namespace {

bool reads_tensor(const ir::Expr& e, int tensor) {
  const auto* read = std::get_if<ir::Read>(&e->value);
  return read != nullptr && read->tensor == tensor;
}

// How often the stage reads the tensor at all, and how often as a factor.
struct Reads {
  int all = 0, factors = 0;
};
Reads reads_of(const te::Stage& stage, int tensor) {
  Reads reads;
  ir::for_each_node(stage.body, [&](const ir::Expr& e) {
    if (reads_tensor(e, tensor)) ++reads.all;
    const auto* lookup = std::get_if<ir::Lookup>(&e->value);
    if (lookup != nullptr && lookup->tensor == tensor) ++reads.all;
    const auto* product = std::get_if<ir::Binary>(&e->value);
    if (product == nullptr || product->op != ir::BinaryOp::kMul) return;
    for (const ir::Expr& factor : {product->a, product->b})
      if (reads_tensor(factor, tensor)) ++reads.factors;
  });
  return reads;
}

// The terms of a stage in one step of its recurrence, if it is in one.
double terms_of(const te::Workload& expression, int number,
                const std::vector<te::Recurrence>& recurrences) {
  const te::Stage& stage = expression.stages[place(number)];
  double terms = 1;
  for (const te::Iterator& iter : stage.iters) terms *= static_cast<double>(iter.extent);
  for (const te::Recurrence& recurrence : recurrences)
    if (recurrence.has(number))
      terms /= static_cast<double>(stage.iters[place(recurrence.axis_of(number))].extent);
  return terms;
}

// How often a run needs each element of the tensor; 0 where it is no weight.
double times_of(const te::Workload& expression, int tensor,
                const std::vector<te::Recurrence>& recurrences) {
  const te::Tensor& weight = expression.tensors[place(tensor)];
  double terms = 0;
  for (int s = 0; s < static_cast<int>(expression.stages.size()); ++s) {
    const te::Stage& stage = expression.stages[place(s)];
    const Reads reads = reads_of(stage, tensor);
    if (reads.all == 0) continue;
    if (stage.reduce != ir::ReduceOp::kSum || reads.all != reads.factors) return 0;
    terms += reads.all * terms_of(expression, s, recurrences);
  }
  return terms / static_cast<double>(elements_of(weight.shape));
}

float from_bits(Dtype dtype, std::uint16_t bits) {
  return dtype == Dtype::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

std::uint16_t to_bits(Dtype dtype, float number) {
  return dtype == Dtype::kF16 ? f32_to_f16(number) : f32_to_bf16(number);
}

Data narrow_data(Dtype dtype, const std::vector<float>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(std::uint16_t));
  for (std::size_t e = 0; e < numbers.size(); ++e) {
    const std::uint16_t bits = to_bits(dtype, numbers[e]);
    std::memcpy(bytes.data() + e * sizeof(bits), &bits, sizeof(bits));
  }
  return Data::own(std::move(bytes));
}

// The expression with an input of another type, which is converted where it is read.
void retype_input(te::Workload& expression, int tensor, Dtype dtype) {
  expression.tensors[place(tensor)].dtype = dtype;
  for (te::Stage& stage : expression.stages)
    stage.body = ir::rewrite_leaves(stage.body, [&](const ir::Expr& e) {
      if (!reads_tensor(e, tensor)) return e;
      const auto& read = std::get<ir::Read>(e->value);
      return ir::cast(ir::read(tensor, read.index, dtype, read.pad), e->dtype);
    });
}

}  // namespace

std::vector<WeightUse> weight_uses(const Graph& graph) {
  std::vector<WeightUse> uses;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::vector<int> tensors = node.expression.inputs();
    const auto recurrences = te::recurrences_of(node.expression);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const te::Tensor& tensor = node.expression.tensors[place(tensors[i])];
      const Value& value = graph.value(node.inputs[i]);
      if (!graph.value(graph.storage_of(node.inputs[i])).constant || !tensor.constant ||
          value.dtype != Dtype::kF32 || tensor.range || value.elements() == 0)
        continue;
      const double times = times_of(node.expression, tensors[i], recurrences);
      if (times > 0) uses.push_back({static_cast<int>(n), i, times, value.bytes()});
    }
  }
  return uses;
}

std::vector<float> weight_of(const Graph& graph, const WeightUse& use) {
  const Range range = graph.range_of(graph.nodes[place(use.node)].inputs[use.input]);
  std::vector<float> numbers(static_cast<std::size_t>(range.end - range.begin));
  const auto& bytes = graph.value(range.storage).constant->bytes;
  std::memcpy(numbers.data(), bytes.data() + static_cast<std::size_t>(range.begin) * sizeof(float),
              numbers.size() * sizeof(float));
  return numbers;
}

bool holds(Dtype dtype, const std::vector<float>& numbers) {
  double squares = 0, errors = 0;
  for (const float number : numbers) {
    if (!std::isfinite(number)) continue;
    const float rounded = from_bits(dtype, to_bits(dtype, number));
    if (!std::isfinite(rounded)) return false;
    const double error = static_cast<double>(rounded) - static_cast<double>(number);
    squares += static_cast<double>(number) * static_cast<double>(number);
    errors += error * error;
  }
  return errors <= epsilon_of(dtype) * epsilon_of(dtype) * squares;
}

std::optional<Dtype> narrow_type(const std::vector<float>& numbers) {
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBF16})
    if (holds(dtype, numbers)) return dtype;
  return std::nullopt;
}

std::vector<double> rounded_to(Dtype dtype, const std::vector<float>& numbers) {
  std::vector<double> out;
  out.reserve(numbers.size());
  for (const float number : numbers)
    out.push_back(static_cast<double>(from_bits(dtype, to_bits(dtype, number))));
  return out;
}

void narrow(Graph& graph, const std::vector<NarrowUse>& uses) {
  std::set<std::string> names;
  for (const Value& value : graph.values) names.insert(value.name);
  std::map<std::pair<int, Dtype>, int> made;  // by the value before: what two nodes read is one
  for (const auto& [use, dtype] : uses) {
    Node& node = graph.nodes[place(use.node)];
    retype_input(node.expression, node.expression.inputs()[use.input], dtype);
    int& id = node.inputs[use.input];
    const auto [known, fresh] = made.emplace(std::pair(id, dtype), 0);
    if (fresh) {
      const Value& wide = graph.value(id);
      const std::string stem = fmt::format("{}_{}", wide.name, name_of(dtype));
      std::string name = stem;
      for (int k = 2; !names.insert(name).second; ++k) name = fmt::format("{}_{}", stem, k);
      Value value{name, dtype, wide.shape, narrow_data(dtype, weight_of(graph, use)), {}};
      known->second = static_cast<int>(graph.values.size());
      graph.values.push_back(std::move(value));
    }
    id = known->second;
  }
  drop_unused(graph);
}

}  // namespace lathe::graph
