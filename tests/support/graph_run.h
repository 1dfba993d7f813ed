// A graph computed node by node, as its expressions say, by the slow evaluator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace lathe::test {

// `inputs` by name. The elements of the graph's outputs, in order; none where a node takes too
// long.
inline std::optional<std::vector<std::vector<double>>> run(
    const graph::Graph& graph, const std::map<std::string, std::vector<double>>& inputs) {
  constexpr std::int64_t kMostTerms = 100'000'000;
  std::map<int, std::vector<double>> known;
  for (const int id : graph.inputs) known[id] = inputs.at(graph.value(id).name);
  const auto elements = [&](int id) {
    const int storage = graph.storage_of(id);
    const graph::Value& value = graph.value(storage);
    return value.constant ? graph::numbers_of(value) : known.at(storage);
  };
  for (const graph::Node& node : graph.nodes) {
    std::vector<std::vector<double>> read;
    for (const int id : node.inputs) read.push_back(elements(id));
    auto written = graph::evaluate(node.expression, read, kMostTerms);
    if (!written) return std::nullopt;
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      known[node.outputs[o]] = std::move((*written)[o]);
  }
  std::vector<std::vector<double>> outputs;
  for (const int id : graph.outputs) outputs.push_back(elements(id));
  return outputs;
}

}  // namespace lathe::test
