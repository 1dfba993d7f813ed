// Groups of several reductions: nodes that follow each other and go through rows, or channels, in
// common, as a convolution of each channel and the product after it. As one program they can keep
// what lies between them in a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"

namespace lathe::graph {

// Where a second cache holds what lies between anyway, one program is slower: tiles of its parts
// fit each other, and each part's own less. Of 14x14 pixels and 512 channels, 392 KiB, a depthwise
// convolution and the product after it take 1.2 times as long together.
inline constexpr std::int64_t kLeastBetween = 512 << 10;  // bytes

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
