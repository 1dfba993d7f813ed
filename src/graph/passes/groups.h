// Which nodes of a graph are computed together.
#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace lathe::graph {

// The nodes of each group, in order. The first is any node, each other one is computed element by
// element of what those before it make. Only what the last one makes is needed outside. Groups come
// in an order in which they can be computed; each node is in one.
std::vector<std::vector<int>> groups_of(const Graph& graph);

}  // namespace lathe::graph
