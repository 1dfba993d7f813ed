#include "api/model_weights.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <span>

#include <fmt/ranges.h>

#include "api/model_chain.h"
#include "api/targets.h"
#include "base/known_names.h"
#include "graph/ir/print.h"
#include "graph/passes/narrow.h"
#include "tuner/measure/device.h"
#include "tuner/model/analytic.h"

namespace lathe::api {
namespace {

using graph::place;

constexpr const char* kWeightsFlag = "--weights-type";
constexpr std::uint64_t kTrialSeed = 1;  // of the check, too
// A weight that is used more often in a run is kept in registers and caches, and its products wait
// for arithmetic; convolutions lose their algorithms.
constexpr double kMostReads = 16;
constexpr double kShareOfBound = 0.5;

// The narrow weights that a task may have.
struct NarrowTask {
  std::size_t task = 0;
  std::vector<graph::NarrowUse> uses;
  std::int64_t bytes = 0;  // in f32
};

bool gains(const graph::Graph& graph, const Target& target) {
  const model::Core core = model::core_of(target, measure::machine_for(target));
  return static_cast<double>(graph::totals_of(graph).parameter_bytes) >
         core.l2_bytes * target.threads();
}

Result<std::vector<NarrowTask>> narrow_tasks(const graph::Graph& graph,
                                             const WeightsRequest& request) {
  const auto asked = dtype_from_name(request.type);
  const std::vector<graph::Task> tasks = graph::tasks_of(graph);
  std::vector<std::size_t> task_of(graph.nodes.size());
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for (const int n : tasks[t].nodes) task_of[place(n)] = t;
  std::vector<NarrowTask> out(tasks.size());
  for (const graph::WeightUse& use : graph::weight_uses(graph)) {
    if (!asked && use.times > kMostReads) continue;
    const std::vector<float> numbers = graph::weight_of(graph, use);
    const graph::Node& node = graph.nodes[place(use.node)];
    if (asked && !graph::holds(*asked, numbers))
      return fail_at(kWeightsFlag, ErrorKind::kInvalidArgument,
                     "{} does not hold the numbers of {}, which {} reads: they are too large or "
                     "too small; give any, or f32",
                     request.type, graph.value(node.inputs[use.input]).name, node.name);
    const auto dtype = asked ? asked : graph::narrow_type(numbers);
    if (!dtype) continue;
    NarrowTask& task = out[task_of[place(use.node)]];
    task.task = task_of[place(use.node)];
    task.uses.push_back({use, *dtype});
    task.bytes += use.bytes;
  }
  std::erase_if(out, [](const NarrowTask& task) { return task.uses.empty(); });
  std::ranges::stable_sort(out, std::greater(), &NarrowTask::bytes);
  return out;
}

// The model in f64, in which weights can be rounded and given back.
class RoundingTrial {
 public:
  static Result<std::unique_ptr<RoundingTrial>> make(const graph::Graph& graph) {
    const Target host = LATHE_TRY(make_target("cpu:host", 0));
    std::unique_ptr<RoundingTrial> trial(new RoundingTrial(graph));
    trial->chain_ = LATHE_TRY(ModelChain::make(trial->wide_, host));
    const auto source = LATHE_TRY(schedule_source({.which = "default", .database = {}}));
    LATHE_TRY_STATUS(fill(*trial->chain_, trial->wide_, source, host, Checking::kSkip));
    trial->chain_->fill_random(kTrialSeed);
    trial->want_ = trial->outputs();
    return trial;
  }

  // The largest difference of an output with all weights that were rounded and not given back.
  double error() {
    const std::vector<graph::Data> got = outputs();
    double error = 0;
    for (std::size_t o = 0; o < got.size(); ++o)
      error = std::max(error, error_between(wide_.value(wide_.outputs[o]).dtype, got[o], want_[o]));
    return error;
  }
  void round(const NarrowTask& task) { put(task, true); }
  void give_back(const NarrowTask& task) { put(task, false); }

 private:
  explicit RoundingTrial(const graph::Graph& graph) : graph_(graph), wide_(in_f64(graph)) {}

  void put(const NarrowTask& task, bool rounded) {
    std::set<int> changed;  // storages
    for (const auto& [use, dtype] : task.uses) {
      const std::vector<float> numbers = graph::weight_of(graph_, use);
      const std::vector<double> put = rounded ? graph::rounded_to(dtype, numbers)
                                              : std::vector<double>(numbers.begin(), numbers.end());
      const int id = wide_.nodes[place(use.node)].inputs[use.input];
      std::ranges::copy(std::as_bytes(std::span(put)), chain_->elements(id));
      changed.insert(wide_.storage_of(id));
    }
    // Others may read the same constant, or a view of it.
    const auto reads = [&](int node) {
      return std::ranges::any_of(wide_.nodes[place(node)].inputs,
                                 [&](int id) { return changed.contains(wide_.storage_of(id)); });
    };
    for (std::size_t t = 0; t < chain_->tasks().size(); ++t)
      if (std::ranges::any_of(chain_->tasks()[t].nodes, reads)) chain_->prepare(t);
  }

  std::vector<graph::Data> outputs() {
    chain_->call();
    std::vector<graph::Data> out;
    for (const int id : wide_.outputs) {
      const std::byte* const begin = chain_->elements(id);
      out.push_back(graph::Data::own({begin, begin + wide_.value(id).bytes()}));
    }
    return out;
  }

  const graph::Graph& graph_;
  const graph::Graph wide_;
  std::unique_ptr<ModelChain> chain_;
  std::vector<graph::Data> want_;
};

// Those that keep the bound together, in order.
std::vector<NarrowTask> within_bound(RoundingTrial& trial, const std::vector<NarrowTask>& tasks,
                                     double most) {
  for (const NarrowTask& task : tasks) trial.round(task);
  if (trial.error() <= most) return tasks;
  for (const NarrowTask& task : tasks) trial.give_back(task);
  std::vector<NarrowTask> kept;
  for (const NarrowTask& task : tasks) {
    trial.round(task);
    if (trial.error() <= most) kept.push_back(task);
    else trial.give_back(task);
  }
  return kept;
}

Status check_bound(const WeightsRequest& request) {
  const auto asked = dtype_from_name(request.type);
  if (!asked || *asked == Dtype::kF32 || request.max_error >= epsilon_of(*asked)) return {};
  return fail_at(
      kWeightsFlag, ErrorKind::kInvalidArgument,
      "{} rounds each weight by up to {:.1g} of it, and the outputs may differ by {:.1g}; "
      "allow more, as --max-error 1e-2",
      request.type, epsilon_of(*asked), request.max_error);
}

}  // namespace

std::vector<std::string> known_weights_types() { return {"any", "f32", "f16", "bf16"}; }

Status check_request(const WeightsRequest& request) {
  const std::vector<std::string> known = known_weights_types();
  if (std::ranges::find(known, request.type) == known.end())
    return fail_at(kWeightsFlag, ErrorKind::kInvalidArgument,
                   "there is no type of weights \"{}\"; there are {}{}", request.type,
                   fmt::join(known, ", "), did_you_mean(known, request.type));
  if (std::isfinite(request.max_error) && request.max_error > 0) return {};
  return fail_at("--max-error", ErrorKind::kInvalidArgument,
                 "{} is no largest error of a model's outputs; give a number above 0, as 1e-2",
                 request.max_error);
}

Result<ModelWeights> choose_weights(const graph::Graph& graph, const WeightsRequest& request,
                                    const Target& target, const ModelProgress& progress) {
  LATHE_TRY_STATUS(check_bound(request));
  ModelWeights out{.graph = graph};
  const bool any = request.type == "any";
  if (request.type == "f32" ||
      (any && (request.max_error < epsilon_of(Dtype::kF16) || !gains(graph, target))))
    return out;
  const auto tasks = LATHE_TRY(narrow_tasks(graph, request));
  if (tasks.empty()) return out;
  progress("rounding weights");
  const auto trial = LATHE_TRY(RoundingTrial::make(graph));
  const double most = kShareOfBound * request.max_error;
  const auto kept = within_bound(*trial, tasks, most);
  if (!any && kept.size() < tasks.size())
    return fail_at(kWeightsFlag, ErrorKind::kInvalidArgument,
                   "with all weights in {} an output differs by more than {:.2g}, half of "
                   "--max-error; give a larger one, or any to narrow what keeps it",
                   request.type, most);
  std::vector<graph::NarrowUse> uses;
  for (const NarrowTask& task : kept) {
    uses.insert(uses.end(), task.uses.begin(), task.uses.end());
    out.wide_bytes += task.bytes;
  }
  out.tasks = static_cast<int>(kept.size());
  out.narrow_bytes = out.wide_bytes / 2;
  if (!kept.empty()) out.error = trial->error();
  graph::narrow(out.graph, uses);
  return out;
}

}  // namespace lathe::api
