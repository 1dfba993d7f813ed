// include/lathe/model.h, implemented with the rooms.
#include <map>
#include <memory>
#include <mutex>

#include <fmt/ranges.h>

#include "api/last_word.h"
#include "api/model.h"
#include "api/model_check.h"
#include "api/model_groups.h"
#include "api/model_tuning.h"
#include "api/model_weights.h"
#include "api/outward.h"
#include "api/targets.h"
#include "base/clock.h"
#include "lathe/model.h"

namespace lathe {

struct Model::Impl {
  Impl(graph::Graph wide_graph, api::WeightsRequest request)
      : wide(std::move(wide_graph)), weights(std::move(request)) {}

  // The graph with what its programs read on the target. What was chosen stays: it takes a run of
  // the model in f64.
  Result<std::shared_ptr<const graph::Graph>> narrowed(const Target& target) const {
    const std::scoped_lock guard(lock);
    auto& known = chosen[target.text()];
    if (known == nullptr)
      known = std::make_shared<const graph::Graph>(
          LATHE_TRY(api::choose_weights(wide, weights, target, [](const std::string&) {})).graph);
    return known;
  }

  const graph::Graph wide;  // as the file has its weights
  const api::WeightsRequest weights;
  mutable std::mutex lock;
  mutable std::map<std::string, std::shared_ptr<const graph::Graph>> chosen;  // by target
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

Result<ModelTuneResult> run_model_tune(const Model::Impl& model, const TuneOptions& options,
                                       const std::function<void(const TuneProgress&)>& listener,
                                       const std::function<bool()>& stop) {
  if (options.machine.cold_cache)
    return fail(ErrorKind::kInvalidArgument,
                "nodes of a model find in the caches what others left; leave out cold_cache");
  return run_tune(options, listener,
                  [&](const auto& request, const auto& hear) -> Result<api::TunedModel> {
                    const auto graph = LATHE_TRY(model.narrowed(request.target));
                    return api::tune_model(*graph, request, hear, stop);
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

Status write_model_files(const Model::Impl& model, const std::string& path,
                         const std::string& schedule, const Machine& machine, Check check) {
  const Target target = LATHE_TRY(api::make_target(machine.target, machine.threads));
  const auto narrowed = LATHE_TRY(model.narrowed(target));
  const api::ScheduleRequest programs{schedule, database_of(machine), cache_of(machine)};
  const graph::Graph graph = LATHE_TRY(api::choose_groups(*narrowed, programs, target)).graph;
  const auto source = LATHE_TRY(api::source_of_model(graph, programs, target));
  const auto made = LATHE_TRY(
      api::model_program(graph, source, target, checking_of(check), [](const std::string&) {}));
  if (check == Check::kOnce && api::check_runs_here(made.target))
    LATHE_TRY(api::check_model(model.wide, made, model.weights.max_error));
  LATHE_TRY(api::write_model(graph, made, {path, "", checking_of(check)}));
  return {};
}

}  // namespace

Expected<Model> Model::open(const std::string& path,
                            const std::map<std::string, std::vector<std::int64_t>>& shapes,
                            const ModelExactness& exactness) {
  return guarded([&]() -> Expected<Model> {
    api::WeightsRequest weights{.type = exactness.weights_type};
    if (exactness.max_error != 0) weights.max_error = exactness.max_error;
    if (const auto fine = api::check_request(weights); !fine) return failure(fine.error());
    std::vector<std::string> words;
    for (const auto& [name, sizes] : shapes)
      words.push_back(fmt::format("{}={}", name, fmt::join(sizes, ",")));
    auto graph = api::read_model(path, words);
    if (!graph) return failure(graph.error());
    return Model(std::make_shared<const Impl>(std::move(*graph), std::move(weights)));
  });
}

double Model::flops() const {
  double sum = 0;
  for (const graph::Node& node : impl_->wide.nodes) sum += te::flops(node.expression);
  return sum;
}
std::vector<TensorInfo> Model::inputs() const {
  return value_infos(impl_->wide, impl_->wide.inputs);
}
std::vector<TensorInfo> Model::outputs() const {
  return value_infos(impl_->wide, impl_->wide.outputs);
}

Expected<ModelTuneResult> Model::tune(const TuneOptions& options,
                                      const std::function<void(const TuneProgress&)>& listener,
                                      const std::function<bool()>& stop) const {
  return guarded([&] { return outward(run_model_tune(*impl_, options, listener, stop)); });
}

Expected<void> Model::write_library(const std::string& path, const std::string& schedule,
                                    const Machine& machine, Check check) const {
  return guarded(
      [&] { return outward(write_model_files(*impl_, path, schedule, machine, check)); });
}

Expected<ModelTuneResult> tune_together(const std::vector<WorkloadCalls>& workloads,
                                        const TuneOptions& options,
                                        const std::function<void(const TuneProgress&)>& listener,
                                        const std::function<bool()>& stop) {
  return guarded([&] { return outward(run_tune_together(workloads, options, listener, stop)); });
}

}  // namespace lathe
