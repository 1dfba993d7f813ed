// A model from its file, with the types of its weights chosen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/model_groups.h"
#include "api/model_weights.h"
#include "base/result.h"
#include "base/target.h"
#include "cli/flag_set.h"
#include "graph/ir/graph.h"

namespace lathe::cli {

void add_weights_type_flag(FlagSet& set, std::string& type);
void add_floors_flag(FlagSet& set, bool& floors);
// Refuses the flag for what is no model.
Status check_no_weights_type(const std::string& type);

struct OpenModel {
  graph::Graph wide;  // as the file has its weights
  api::ModelWeights weights;
  // What may be one program or several, and which of these graph() has.
  std::vector<api::GroupChoice> choices;
  // With what the program reads.
  const graph::Graph& graph() const { return weights.graph; }
};
// Says in a line what became narrow, if anything did. `programs`: where they come from, so that
// nodes become one where one program of these is faster; none: no nodes do.
Result<OpenModel> open_model(const std::string& path, const std::vector<std::string>& shapes,
                             const api::WeightsRequest& request, const Target& target,
                             const std::optional<api::ScheduleRequest>& programs);

}  // namespace lathe::cli
