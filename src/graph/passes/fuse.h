#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace lathe::graph {

// Makes one node of each group (groups.h).
Status fuse(Graph& graph);

// One node that makes what the last member does. Each but the first reads what those before it
// make.
Result<Node> merged(const Graph& graph, const std::vector<int>& members);

}  // namespace lathe::graph
