#include "api/model_floors.h"

#include <algorithm>

#include "api/targets.h"
#include "api/tuning.h"
#include "graph/ir/print.h"
#include "tuner/measure/device.h"

namespace lathe::api {

using graph::place;

Result<std::vector<NodeFloor>> node_floors(const graph::Graph& graph, const Target& target,
                                           int jobs, const ModelProgress& progress) {
  LATHE_TRY_STATUS(check_timed_here(target));
  measure::Options options;
  options.jobs = jobs;
  const auto session = LATHE_TRY(measure::open_session(target, options));
  std::vector<NodeFloor> floors(graph.nodes.size());
  const std::vector<graph::Task> tasks = graph::tasks_of(graph);
  double peak = 0;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    progress(fmt::format("task {} of {}", t + 1, tasks.size()));
    const te::Workload& workload = graph.nodes[place(tasks[t].nodes[0])].expression;
    const auto measurer = LATHE_TRY(measure::make_measurer(session, te::canonical(workload)));
    if (peak == 0) peak = LATHE_TRY(measurer->peak_flops());
    const double bandwidth = LATHE_TRY(measurer->bandwidth());
    const Traffic traffic = traffic_of(workload);
    NodeFloor floor;
    if (peak > 0) floor.arithmetic = traffic.done_flops / peak;
    if (bandwidth > 0) floor.memory = traffic.bytes / bandwidth;
    for (const int n : tasks[t].nodes) floors[place(n)] = floor;
  }
  return floors;
}

}  // namespace lathe::api
