#pragma once

#include "graph/ir/graph.h"

namespace lathe::graph {

// Makes one node of each group (groups.h).
Status fuse(Graph& graph);

}  // namespace lathe::graph
