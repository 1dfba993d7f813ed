// The section of a model: its graph from top to bottom, with the time of each node, and beside it
// the tasks by their time and what there is to know of the node that is pointed at.
#pragma once

#include <map>
#include <string>

#include "api/report/model_report.h"

namespace lathe::cli {

// `sections`: the ids of sections of workloads, by their keys.
std::string model_section(const report::ModelReport& model,
                          const std::map<std::string, std::string>& sections);

}  // namespace lathe::cli
