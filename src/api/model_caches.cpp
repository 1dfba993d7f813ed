#include "api/model_caches.h"

#include "graph/ir/print.h"
#include "tuner/measure/device.h"
#include "tuner/model/analytic.h"

namespace lathe::api {
namespace {

// Of the last cache. What lies between nodes is there, too, and packed weights are larger than
// those of the file: 1.8 to 4 times as large where an algorithm transforms them.
constexpr double kShareOfWeights = 1.0 / 3;

}  // namespace

CacheMode caches_of(const graph::Graph& graph, const Target& target) {
  if (target.kind() != DeviceKind::kCpu) return CacheMode::kWarm;
  const model::Core core = model::core_of(target, measure::machine_for(target));
  const auto weights = static_cast<double>(graph::totals_of(graph).parameter_bytes);
  return weights > kShareOfWeights * core.l3_bytes ? CacheMode::kFar : CacheMode::kWarm;
}

Result<ScheduleSource> node_schedules(const graph::Graph& graph, ScheduleRequest request,
                                      const Target& target) {
  const bool best = request.which == ScheduleRequest().which;
  request.cache_mode = caches_of(graph, target);
  if (!best || request.cache_mode == CacheMode::kWarm) return schedule_source(request);
  ScheduleSource own = recorded_schedules(request);
  request.cache_mode = CacheMode::kWarm;
  auto others = LATHE_TRY(schedule_source(request));
  return [own = std::move(own), others = std::move(others)](const te::Workload& workload,
                                                            const Target& asked) -> Result<Chosen> {
    auto chosen = own(workload, asked);
    if (chosen || chosen.error().kind != ErrorKind::kNotFound) return chosen;
    return others(workload, asked);
  };
}

}  // namespace lathe::api
