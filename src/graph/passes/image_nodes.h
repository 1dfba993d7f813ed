// Nodes over images [n,c,h,w], of any number of dimensions: what the layout pass asks of them.
#pragma once

#include <cstddef>
#include <set>

#include "graph/ir/graph.h"

namespace lathe::graph {

inline constexpr std::size_t kChannel = 1;       // the dimension of channels
inline constexpr std::size_t kFirstOfImage = 2;  // those after it are an image's

// True if every access of the tensors takes the batch and the channel of the element that is
// computed: a pooling, what is resized, a convolution of each channel.
bool keeps_channels(const te::Workload& expression, const std::set<int>& tensors);

// True of a sum over products of an image with constant weights that do not depend on where in the
// image they are used. A transposed convolution has other weights for each of its phases.
bool is_convolution(const te::Workload& expression);

// A node between an image that it reads and one that it makes, and what that costs: in
// multiply-adds at full speed, or what takes as long.
struct Between {
  int read = -1, made = -1;  // values; -1: channels stay where the model has them
  double cost[2][2] = {};    // by whether channels are last in what is read, and in what is made
};
Between convolution_between(const te::Workload& expression, int read, int made);
Between pooling_between(const te::Workload& expression, int read, int made);

}  // namespace lathe::graph
