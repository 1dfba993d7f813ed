// How fast each node of a model could be on this machine, whatever its program is.
#pragma once

#include <string>
#include <vector>

#include "api/model.h"
#include "base/result.h"
#include "base/target.h"
#include "graph/ir/graph.h"

namespace lathe::api {

struct NodeFloor {
  // Seconds: of its operations at the peak of multiply-adds in f32, and of its inputs and outputs,
  // each moved once, at what moving as much alone reaches. An algorithm that multiplies less, and
  // types of which more go into a vector, may be below the former.
  double arithmetic = 0, memory = 0;
  double seconds() const { return arithmetic > memory ? arithmetic : memory; }
};

// By node. It measures for a moment for each task.
Result<std::vector<NodeFloor>> node_floors(const graph::Graph& graph, const Target& target,
                                           int jobs, const ModelProgress& progress);

}  // namespace lathe::api
