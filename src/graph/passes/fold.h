#pragma once

#include "graph/ir/graph.h"

namespace lathe::graph {

// Where the channels of a product's or convolution's result are scaled and shifted by constants, as
// in a batch normalization, its constant weights are scaled instead, rounded once to their type,
// and its bias becomes what is left. Of f32 and f64.
Status fold(Graph& graph);

}  // namespace lathe::graph
