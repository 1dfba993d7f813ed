// Element-wise expressions that scale and shift channels.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/ir/graph.h"

namespace lathe::graph {

// Y[..., c, ...] = X[..., c, ...] * factor[c] + summand[c].
struct Channels {
  std::optional<std::size_t> axis;  // none: all channels have the same
  std::vector<double> factor, summand;

  double factor_of(std::size_t channel) const { return factor[axis ? channel : 0]; }
  double summand_of(std::size_t channel) const { return summand[axis ? channel : 0]; }
};

// What the node does with its input of that place; none where it does something else, or other
// inputs are no constants.
std::optional<Channels> channels_of(const Graph& graph, const Node& node, std::size_t input);

}  // namespace lathe::graph
