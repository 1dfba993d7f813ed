// Constant weights in a narrower type than they are computed with: f16 or bf16, read as f32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/ir/graph.h"

namespace lathe::graph {

// A constant f32 input of a node that is a factor in sums of products, and nothing else.
struct WeightUse {
  int node = 0;
  std::size_t input = 0;  // among the node's
  // How often a run needs each element; steps of a recurrence, which come one after the other,
  // count as one.
  double times = 0;
  std::int64_t bytes = 0;
};
std::vector<WeightUse> weight_uses(const Graph& graph);

// The elements of a constant, also where it is a view of one.
std::vector<float> weight_of(const Graph& graph, const WeightUse& use);

// True if the type holds the numbers with roundings that are small beside their root mean square:
// none becomes infinite, and what becomes too small does not matter. NaN and infinity stay.
bool holds(Dtype dtype, const std::vector<float>& numbers);

// f16 where that holds the numbers, else bf16, else none.
std::optional<Dtype> narrow_type(const std::vector<float>& numbers);

// Rounds them to the type.
std::vector<double> rounded_to(Dtype dtype, const std::vector<float>& numbers);

struct NarrowUse {
  WeightUse use;
  Dtype dtype = Dtype::kF16;
};
// Keeps these weights in their narrower types; nodes convert what they read of them.
void narrow(Graph& graph, const std::vector<NarrowUse>& uses);

}  // namespace lathe::graph
