#include "api/model_times.h"

#include <algorithm>
#include <limits>

#include "api/last_word.h"
#include "api/workload.h"
#include "base/statistics.h"
#include "compiler/driver/driver.h"
#include "compiler/te/workload.h"
#include "graph/ir/print.h"
#include "tuner/measure/device.h"
#include "tuner/model/analytic.h"

namespace lathe::api {
namespace {

const te::Workload& first_expression(const graph::Graph& graph, const graph::Task& task) {
  return graph.nodes[graph::place(task.nodes[0])].expression;
}

}  // namespace

Result<std::vector<std::optional<Chosen>>> recorded_programs(const graph::Graph& graph,
                                                             const ScheduleRequest& request,
                                                             const Target& target) {
  const auto source = LATHE_TRY(source_of_model(graph, request, target));
  std::vector<std::optional<Chosen>> out;
  for (const graph::Task& task : graph::tasks_of(graph)) {
    auto chosen = source(first_expression(graph, task), target);
    if (!chosen && chosen.error().kind != ErrorKind::kNotFound)
      return std::unexpected(std::move(chosen).error());
    out.emplace_back();
    if (chosen && chosen->record) out.back() = std::move(*chosen);
  }
  return out;
}

double recorded_seconds(const Chosen& chosen) {
  if (chosen.exchanged && chosen.exchanged->seconds > 0) return chosen.exchanged->seconds;
  const store::Record& record = *chosen.record;
  return record.raced ? record.race_seconds : record.seconds;
}

double analytic_cycles(const te::Workload& workload, const schedule::Trace& trace,
                       const Target& target) {
  const auto nest = driver::scheduled(te::canonical(workload), trace);
  if (!nest) return std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> values;
  nest->sizes.evaluate(std::span<const std::int64_t>(), values);
  const model::Core core = model::core_of(target, measure::machine_for(target));
  return model::AnalyticModel(*nest, core).cycles(values);
}

double default_cycles(const te::Workload& workload, const Target& target) {
  te::Workload direct = workload;
  direct.contract.numerics = te::Numerics::kComponentwise;
  double least = std::numeric_limits<double>::infinity();
  for (const te::Workload& asked : {workload, direct})
    if (const auto space = space_of_key(asked, target, space::Flavour::kDefault))
      least = std::min(least,
                       analytic_cycles(asked, (*space)->trace((*space)->default_config()), target));
  return least;
}

std::vector<double> recorded_or_guessed(const graph::Graph& graph,
                                        const std::vector<std::optional<Chosen>>& recorded,
                                        const Target& target) {
  const std::vector<graph::Task> tasks = graph::tasks_of(graph);
  std::vector<double> seconds(tasks.size(), 0), a_cycle;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (!recorded[t]) continue;
    seconds[t] = recorded_seconds(*recorded[t]);
    const double cycles =
        analytic_cycles(first_expression(graph, tasks[t]), recorded[t]->trace, recorded[t]->target);
    if (cycles > 0 && cycles < std::numeric_limits<double>::infinity())
      a_cycle.push_back(seconds[t] / cycles);
  }
  const double usual = a_cycle.empty() ? 1 / kCyclesASecond : quantile(std::move(a_cycle), 0.5);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (recorded[t]) continue;
    const double cycles = default_cycles(first_expression(graph, tasks[t]), target);
    if (cycles < std::numeric_limits<double>::infinity()) seconds[t] = usual * cycles;
  }
  return seconds;
}

}  // namespace lathe::api
