#pragma once

#include "graph/ir/graph.h"

namespace lathe::graph {

// A node that joins values, each as elements that follow each other, leaves: what it joins is made
// in its result. Where that cannot be, as of an input of the graph or a value that is joined twice,
// a node copies it there. What lies side by side already, as the first values of a longer
// concatenation, is a view.
Status concat(Graph& graph);

// True of a node that leaves so without a copy.
bool has_no_program(const Graph& graph, const Node& node);

}  // namespace lathe::graph
