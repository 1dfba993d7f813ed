#pragma once

#include "graph/ir/graph.h"

namespace lathe::graph {

// A node that copies elements which follow each other, as of a Slice or Split along the first
// dimension that has several, leaves: its result is a view.
Status views(Graph& graph);

}  // namespace lathe::graph
