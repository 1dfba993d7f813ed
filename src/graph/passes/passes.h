// What is done to a graph between its import and its programs, in this order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace lathe::graph {

struct Pass {
  std::string name;  // "fuse"
  std::string what;  // it does, as a sentence
  Status (*run)(Graph&);
};
const std::vector<Pass>& passes();

// Runs them up to the one of that name, with it; "": all, "import": none. The graph is verified
// after each, and what is found there is a defect.
Status run_passes(Graph& graph, std::string_view last = "");

}  // namespace lathe::graph
