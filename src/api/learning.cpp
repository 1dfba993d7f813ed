#include "api/learning.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "api/schedules.h"
#include "api/shipped_models.h"
#include "api/targets.h"
#include "api/workload.h"
#include "base/file.h"
#include "base/trust.h"
#include "compiler/te/workload.h"
#include "tuner/measure/device.h"

namespace lathe::api {
namespace {

constexpr int kTrainRows = 512;

Result<std::vector<std::string>> shapes_of(const std::vector<std::string>& workloads) {
  std::vector<std::string> shapes;
  for (const std::string& text : workloads) {
    WorkloadRequest request;
    request.text = text;
    shapes.push_back(
        learn::shape_of(te::workload_key(LATHE_TRY(make_workload(request)).definition)));
  }
  return shapes;
}

// Classes of targets, each with its targets in the databases.
using Classes = std::map<model::TargetClass, std::vector<std::string>>;

Status add_classes(store::Store& store, Classes& classes) {
  for (const store::Run& run : LATHE_TRY(store.runs())) {
    const auto target = make_target(run.target, 0);
    if (!target) continue;  // a newer LLVM wrote it
    auto& texts = classes[model::class_of(*target)];
    if (std::ranges::find(texts, run.target) == texts.end()) texts.push_back(run.target);
  }
  return {};
}

struct Records {
  learn::History history;
  model::TargetClass target_class;
};

Result<model::TargetClass> wanted_class(const std::string& target, const Classes& classes) {
  if (!target.empty()) return model::class_of(LATHE_TRY(make_target(target, 0)));
  if (classes.empty())
    return fail(ErrorKind::kNotFound, "the databases hold no records; run lathe tune first");
  if (classes.size() == 1) return classes.begin()->first;
  std::vector<std::string> names;
  for (const auto& [each, targets] : classes)
    names.push_back(fmt::format("{} ({})", each.text(), targets[0]));
  std::ranges::sort(names);
  return fail_at("--target", ErrorKind::kInvalidArgument,
                 "the records are of several kinds of targets, {}; choose one",
                 fmt::join(names, " and "));
}

Result<Records> read_records(const LearnRequest& request) {
  Classes classes;
  std::vector<std::unique_ptr<store::Store>> stores;
  for (const std::string& path : request.databases) {
    stores.push_back(LATHE_TRY(open_existing(path)));
    LATHE_TRY_STATUS(add_classes(*stores.back(), classes));
  }
  Records records;
  records.target_class = LATHE_TRY(wanted_class(request.target, classes));
  const auto targets = classes.find(records.target_class);
  if (targets == classes.end())
    return fail_at("--target", ErrorKind::kNotFound, "no record is for {}",
                   records.target_class.text());
  learn::Selection selection;
  selection.targets = targets->second;
  selection.without = LATHE_TRY(shapes_of(request.without));
  for (const auto& store : stores)
    LATHE_TRY_STATUS(learn::read_history(*store, selection, tune::features_of(request.options),
                                         records.history));
  return records;
}

Result<std::string> read_own(const std::string& path) {
  LATHE_TRY_STATUS(check_readable(path));
  const Status own = check_unshared(path);
  if (own || own.error().kind == ErrorKind::kNotFound) return read_file(path);
  return std::unexpected(own.error());
}

Result<model::GlobalModel> read_global(const std::string& path) {
  auto bytes = read_own(path);
  if (!bytes) {
    bytes.error().message += "; lathe model train writes a model";
    return std::unexpected(bytes.error());
  }
  auto global = model::load_global(*bytes);
  if (!global) global.error().place = path;
  return global;
}

Result<model::Objective> needed_objective(const tune::Options& options) {
  const auto objective = tune::objective_of(options);
  if (!objective)
    return fail_at("--model", ErrorKind::kInvalidArgument,
                   "{} does not learn; choose a model that does", options.model.name);
  return *objective;
}

Result<model::GlobalModel> fitting(const std::string& path, const model::TargetClass& target_class,
                                   const tune::Options& options) {
  auto global = LATHE_TRY(read_global(path));
  auto fits = model::check_fit(global, tune::features_of(options),
                               LATHE_TRY(needed_objective(options)), target_class);
  if (fits) return global;
  fits.error().place = path;
  return std::unexpected(fits.error());
}

Result<model::GlobalOptions> global_options(const tune::Options& options,
                                            const model::TargetClass& target_class) {
  const model::Objective objective = LATHE_TRY(needed_objective(options));
  return model::GlobalOptions{.features = tune::features_of(options),
                              .objective = objective,
                              .target_class = target_class,
                              .threads = options.run.jobs,
                              .seed = options.run.seed};
}

struct Beginning {
  model::GlobalModel model;
  bool shipped = false;
};
using MaybeBeginning = std::optional<Beginning>;

// What a model for cards has not learned from any workload of the family is beyond it.
bool knows_family(const model::GlobalModel& global, const std::string& workload) {
  if (!std::holds_alternative<model::CudaClass>(global.target_class.device)) return true;
  const auto family = [](const std::string& of) {
    return learn::relatives_of(of, learn::Relation::kFamily);
  };
  return std::ranges::find(global.workloads, family(workload), family) != global.workloads.end();
}

// None if none comes for this class of targets, for these features and this objective, or for such
// workloads.
Result<MaybeBeginning> shipped_global(const model::TargetClass& target_class,
                                      const std::string& workload, const tune::Options& options) {
  const std::string_view bytes = shipped_model(target_class);
  if (bytes.empty()) return std::nullopt;
  auto global = LATHE_TRY(model::load_global(bytes));
  if (!model::check_fit(global, tune::features_of(options), LATHE_TRY(needed_objective(options)),
                        target_class) ||
      !knows_family(global, workload))
    return std::nullopt;
  return Beginning{std::move(global), true};
}

// The file's model if a file is named, else what the store teaches, else the one that came with
// Lathe, if there is one.
Result<MaybeBeginning> global_model_for(const std::string& file, const std::string& workload,
                                        const Target& target, store::Store* store,
                                        const tune::Options& options) {
  const model::TargetClass target_class = model::class_of(target);
  if (!file.empty()) return Beginning{LATHE_TRY(fitting(file, target_class, options))};
  const bool able =
      tune::objective_of(options).has_value() && options.model.features != "configuration";
  if (!able || !options.model.transfer || options.run.fresh) return std::nullopt;
  if (store != nullptr) {
    auto taught = LATHE_TRY(learn::global_of_store(
        *store, workload, target.text(), options.run.cache_mode, measure::machine_for(target).cpu(),
        LATHE_TRY(global_options(options, target_class))));
    if (taught) return Beginning{std::move(*taught)};
  }
  return shipped_global(target_class, workload, options);
}

// What can be told of a request before any database is opened.
Status check_request(const LearnRequest& request) {
  LATHE_TRY(needed_objective(request.options));
  if (!request.target.empty()) LATHE_TRY(make_target(request.target, 0));
  LATHE_TRY(shapes_of(request.without));
  return {};
}

}  // namespace

Result<Trained> train_global_model(const LearnRequest& request, const std::string& file) {
  LATHE_TRY_STATUS(check_request(request));
  const Records records = LATHE_TRY(read_records(request));
  Trained trained;
  trained.skipped = records.history.skipped;
  trained.copies = records.history.copies;
  trained.model = LATHE_TRY(learn::train_global(
      records.history, LATHE_TRY(global_options(request.options, records.target_class))));
  LATHE_TRY_STATUS(write_whole(file, LATHE_TRY(model::save(trained.model))));
  return trained;
}

Result<Judgement> judge_model(const JudgeRequest& request) {
  LATHE_TRY_STATUS(check_request(request.learn));
  learn::EvaluationOptions options;
  options.in_turn = request.held_out == std::vector<std::string>{"each"};
  if (!options.in_turn) options.held_out = LATHE_TRY(shapes_of(request.held_out));
  const Records records = LATHE_TRY(read_records(request.learn));
  options.seed = request.learn.options.run.seed;
  const auto training = LATHE_TRY(global_options(request.learn.options, records.target_class));
  options.make_global = [&training] { return model::make_global(training); };
  options.unrelated = request.unrelated;
  std::vector<std::string> seen;
  if (!request.model_file.empty()) {
    const auto global =
        LATHE_TRY(fitting(request.model_file, records.target_class, request.learn.options));
    options.global = global.model;
    for (const std::string& workload : global.workloads) seen.push_back(learn::shape_of(workload));
  }
  const bool alone = request.held_out.empty() && options.global == nullptr;
  options.train_rows = request.train_rows.value_or(alone ? kTrainRows : 0);
  const bool tells =
      model::tells_cycles(tune::features_of(request.learn.options), records.target_class);
  const learn::ModelMaker make = [&](std::shared_ptr<const model::CostModel> global) {
    tune::Options over = request.learn.options;
    over.model.global = std::move(global);
    return *tune::model_of(over, tells);
  };
  LATHE_TRY(tune::model_of(request.learn.options, false));
  Judgement out;
  out.skipped = records.history.skipped;
  out.copies = records.history.copies;
  out.judged = LATHE_TRY(learn::evaluate(records.history, make, options));
  for (const learn::Judged& judged : out.judged)
    out.seen.push_back(std::ranges::find(seen, learn::shape_of(judged.group.workload)) !=
                       seen.end());
  return out;
}

Result<Origin> begin_from_others(const std::string& file, const std::string& workload,
                                 const Target& target, store::Store* store,
                                 tune::Options& options) {
  const auto beginning = LATHE_TRY(global_model_for(file, workload, target, store, options));
  if (!beginning) return Origin{};
  const model::GlobalModel& global = beginning->model;
  options.model.global = global.model;
  return Origin{global.records, static_cast<int>(global.workloads.size()), beginning->shipped};
}

}  // namespace lathe::api
