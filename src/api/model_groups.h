// Nodes of a model that may be one program or several (graph/passes/unions.h): which of these it
// has. What was measured decides. Without records there are several, unless much lies between and
// the analytic model is sure.
#pragma once

#include <string>
#include <vector>

#include "api/schedules.h"
#include "base/result.h"
#include "base/target.h"
#include "graph/ir/graph.h"
#include "graph/passes/unions.h"

namespace lathe::api {

struct GroupChoice {
  graph::Union offered;   // nodes of the graph before
  std::string label;      // "Conv+Relu+Conv f32[1,56,56,128]"
  bool recorded = false;  // the times of both are on record, so they decide
  bool one = false;       // the model has it as one program
  // Seconds of a call as one program and as several, or what is guessed of these in cycles; 0: not
  // known.
  double together = 0, apart = 0;
};

struct ChosenGroups {
  graph::Graph graph;
  std::vector<GroupChoice> choices;  // all that is offered, in the order of the graph before
};

// Of what shares nodes the one that gains most is taken. Only times of one machine, target and
// version of the code generator compare.
Result<ChosenGroups> choose_groups(const graph::Graph& graph, const ScheduleRequest& request,
                                   const Target& target);

}  // namespace lathe::api
