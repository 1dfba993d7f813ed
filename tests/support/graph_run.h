// A graph computed node by node, as its expressions say, by the slow evaluator.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "graph/ir/graph.h"

namespace lathe::test {

// `inputs` by name. The elements of the graph's outputs, in order; none where a node takes too
// long.
inline std::optional<std::vector<std::vector<double>>> run(
    const graph::Graph& graph, const std::map<std::string, std::vector<double>>& inputs) {
  constexpr std::int64_t kMostTerms = 100'000'000;
  std::map<int, std::vector<double>> known;  // by value that is no view
  const auto part_of = [&](int id) {
    const graph::Range range = graph.range_of(id);
    std::vector<double>& all = known[range.storage];
    const graph::Value& storage = graph.value(range.storage);
    if (all.empty())
      all = storage.constant
                ? graph::numbers_of(storage)
                : std::vector<double>(static_cast<std::size_t>(storage.elements()), std::nan(""));
    return std::span(all).subspan(static_cast<std::size_t>(range.begin),
                                  static_cast<std::size_t>(range.end - range.begin));
  };
  const auto write = [&](int id, const std::vector<double>& numbers) {
    std::ranges::copy(numbers, part_of(id).begin());
  };
  for (const int id : graph.inputs) write(id, inputs.at(graph.value(id).name));
  for (const graph::Node& node : graph.nodes) {
    std::vector<std::vector<double>> read;
    for (const int id : node.inputs) {
      const auto part = part_of(id);
      read.emplace_back(part.begin(), part.end());
    }
    const auto written = graph::evaluate(node.expression, read, kMostTerms);
    if (!written) return std::nullopt;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) write(node.outputs[o], (*written)[o]);
  }
  std::vector<std::vector<double>> outputs;
  for (const int id : graph.outputs) {
    const auto part = part_of(id);
    outputs.emplace_back(part.begin(), part.end());
  }
  return outputs;
}

// For the inputs, by name.
inline std::map<std::string, std::vector<double>> random_values(const graph::Graph& graph,
                                                                Rng& rng) {
  std::map<std::string, std::vector<double>> out;
  for (const int id : graph.inputs)
    for (std::int64_t e = 0; e < graph.value(id).elements(); ++e)
      out[graph.value(id).name].push_back(static_cast<double>(rng.between(-16, 16)) * 0.125);
  return out;
}

}  // namespace lathe::test
