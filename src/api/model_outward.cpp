// include/lathe/model.h, implemented with the rooms.
#include <fmt/ranges.h>

#include "api/last_word.h"
#include "api/model.h"
#include "api/model_check.h"
#include "api/model_tuning.h"
#include "api/outward.h"
#include "api/targets.h"
#include "base/clock.h"
#include "lathe/model.h"

namespace lathe {

struct Model::Impl {
  graph::Graph graph;
};

namespace {

std::vector<TensorInfo> value_infos(const graph::Graph& graph, const std::vector<int>& values) {
  std::vector<TensorInfo> out;
  for (const int id : values) {
    const graph::Value& value = graph.value(id);
    out.push_back({value.name, std::string(name_of(value.dtype)), value.shape, false, value.shape});
  }
  return out;
}

using Tune = std::function<Result<api::TunedModel>(const api::ModelTuneRequest&,
                                                   const api::ModelTuneListener&)>;

Result<ModelTuneResult> run_tune(const TuneOptions& options,
                                 const std::function<void(const TuneProgress&)>& listener,
                                 const Tune& tune) {
  api::ModelTuneRequest request;
  request.target = LATHE_TRY(api::make_target(options.machine.target, options.machine.threads));
  request.database = database_of(options.machine);
  request.global_model = options.global_model;
  request.options = LATHE_TRY(options_of(options));
  const double began = seconds_now();
  const auto hear = [&](const api::ModelTuneProgress& p) {
    const std::string doing =
        p.doing.empty() || p.task.empty() ? p.task + p.doing : p.task + ": " + p.doing;
    if (listener) listener({p.trials, 0, p.best, seconds_now() - began, p.left, doing});
  };
  const auto tuned = LATHE_TRY(tune(request, hear));
  ModelTuneResult out{
      {}, tuned.seconds, tuned.interrupted, tuned.last_word.before, tuned.last_word.after};
  for (const api::TunedTask& task : tuned.tasks)
    out.tasks.push_back({task.label, task.workload, static_cast<int>(task.weight), task.trials,
                         task.failed, task.first, task.best, task.problem});
  return out;
}

Result<ModelTuneResult> run_model_tune(const graph::Graph& graph, const TuneOptions& options,
                                       const std::function<void(const TuneProgress&)>& listener,
                                       const std::function<bool()>& stop) {
  if (options.machine.cold_cache)
    return fail(ErrorKind::kInvalidArgument,
                "nodes of a model find in the caches what others left; leave out cold_cache");
  return run_tune(options, listener, [&](const auto& request, const auto& hear) {
    return api::tune_model(graph, request, hear, stop);
  });
}

Result<ModelTuneResult> run_tune_together(const std::vector<WorkloadCalls>& workloads,
                                          const TuneOptions& options,
                                          const std::function<void(const TuneProgress&)>& listener,
                                          const std::function<bool()>& stop) {
  std::vector<api::TaskToTune> tasks;
  for (const auto& [workload, calls] : workloads) {
    if (calls < 1)
      return fail(ErrorKind::kInvalidArgument,
                  "a workload is called {} times; leave out those that are not called", calls);
    const te::Workload& definition = workload.impl().definition;
    tasks.push_back({definition.name, definition, static_cast<double>(calls)});
  }
  return run_tune(options, listener, [&](const auto& request, const auto& hear) {
    return api::tune_tasks(tasks, request, hear, stop);
  });
}

Status write_model_files(const graph::Graph& graph, const std::string& path,
                         const std::string& schedule, const Machine& machine, Check check) {
  const Target target = LATHE_TRY(api::make_target(machine.target, machine.threads));
  const auto source = LATHE_TRY(
      api::source_of_model(graph, {schedule, database_of(machine), cache_of(machine)}, target));
  const auto made = LATHE_TRY(
      api::model_program(graph, source, target, checking_of(check), [](const std::string&) {}));
  if (check == Check::kOnce && api::check_runs_here(made.target))
    LATHE_TRY(api::check_model(graph, made));
  LATHE_TRY(api::write_model(graph, made, {path, "", checking_of(check)}));
  return {};
}

}  // namespace

Expected<Model> Model::open(const std::string& path,
                            const std::map<std::string, std::vector<std::int64_t>>& shapes) {
  return guarded([&]() -> Expected<Model> {
    std::vector<std::string> words;
    for (const auto& [name, sizes] : shapes)
      words.push_back(fmt::format("{}={}", name, fmt::join(sizes, ",")));
    auto graph = api::read_model(path, words);
    if (!graph) return failure(graph.error());
    return Model(std::make_shared<const Impl>(Impl{std::move(*graph)}));
  });
}

double Model::flops() const {
  double sum = 0;
  for (const graph::Node& node : impl_->graph.nodes) sum += te::flops(node.expression);
  return sum;
}
std::vector<TensorInfo> Model::inputs() const {
  return value_infos(impl_->graph, impl_->graph.inputs);
}
std::vector<TensorInfo> Model::outputs() const {
  return value_infos(impl_->graph, impl_->graph.outputs);
}

Expected<ModelTuneResult> Model::tune(const TuneOptions& options,
                                      const std::function<void(const TuneProgress&)>& listener,
                                      const std::function<bool()>& stop) const {
  return guarded([&] { return outward(run_model_tune(impl_->graph, options, listener, stop)); });
}

Expected<void> Model::write_library(const std::string& path, const std::string& schedule,
                                    const Machine& machine, Check check) const {
  return guarded(
      [&] { return outward(write_model_files(impl_->graph, path, schedule, machine, check)); });
}

Expected<ModelTuneResult> tune_together(const std::vector<WorkloadCalls>& workloads,
                                        const TuneOptions& options,
                                        const std::function<void(const TuneProgress&)>& listener,
                                        const std::function<bool()>& stop) {
  return guarded([&] { return outward(run_tune_together(workloads, options, listener, stop)); });
}

}  // namespace lathe
