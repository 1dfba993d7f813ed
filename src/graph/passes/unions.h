// Groups of several reductions: nodes that follow each other and go through rows, or channels, in
// common, as a convolution of each channel and the product after it. As one program they can keep
// what lies between them in a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"

namespace lathe::graph {

// What lies between is worth less than a program of its own where the second cache holds it anyway.
inline constexpr std::int64_t kLeastBetween = 128 << 10;  // bytes

struct Union {
  std::vector<int> members;  // nodes, in order; the graph needs only what the last one makes
  Node node;                 // that they would be
};

// All that a fused graph offers, in the order of their last members; a node may be in several:
//
//   - a window over each channel, as of a pooling or a depthwise convolution, then a product
//   - a product, then a window over each channel
//   - a product, a reduction of rows as softmax, a product
//
// What lies between has at least so many bytes.
std::vector<Union> unions_of(const Graph& graph, std::int64_t least_bytes = kLeastBetween);

// The graph with these as one node each. A node is in one of them at most.
Graph united(const Graph& graph, const std::vector<Union>& taken);

}  // namespace lathe::graph
