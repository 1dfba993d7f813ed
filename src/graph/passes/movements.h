#pragma once

#include "graph/ir/graph.h"

namespace lathe::graph {

// A node that only moves elements (pieces.h) joins all nodes that read it, where each of them moves
// elements, too; or rows stay rows, and each computes element by element or multiplies matrices.
Status movements(Graph& graph);

}  // namespace lathe::graph
