#include "api/schedules.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "api/applicable.h"
#include "api/prediction.h"
#include "api/targets.h"
#include "api/workload.h"
#include "base/file.h"
#include "base/json.h"
#include "base/known_names.h"
#include "compiler/te/parse.h"
#include "compiler/te/work.h"
#include "tuner/measure/device.h"

namespace lathe::api {

Result<std::unique_ptr<store::Store>> open_existing(const std::string& path) {
  std::error_code failure;
  const bool exists = std::filesystem::exists(path, failure);
  if (failure)
    return fail_at(path, ErrorKind::kIo,
                   "this file cannot be looked for ({}); give another one with --db",
                   failure.message());
  if (!exists)
    return fail_at(
        path, ErrorKind::kNotFound,
        "there is no database here yet; run lathe tune first, or give another file with --db");
  return store::open_sqlite(path);
}

namespace {

// What no machine reaches, in operations and in bytes a second.
constexpr double kMostRate = 1e18;

Status check_rate(const te::Workload& workload, double seconds, const char* member) {
  const double least = std::max(te::flops(workload), te::io_bytes(workload)) / kMostRate;
  if (seconds >= least) return {};
  return fail_at(fmt::format("member \"{}\"", member), ErrorKind::kInvalidArgument,
                 "{} s is less than any machine takes for this workload, which computes {:.3g} "
                 "operations on {:.3g} bytes",
                 seconds, te::flops(workload), te::io_bytes(workload));
}

}  // namespace

Status check_trial(const store::Run& run, const store::Record& record) {
  const auto workload = te::parse_workload(run.workload);
  if (!workload)
    return fail_at("member \"workload\"", ErrorKind::kInvalidArgument, "{}",
                   workload.error().text());
  if (record.ok()) LATHE_TRY_STATUS(check_rate(*workload, record.seconds, "seconds"));
  if (record.raced) LATHE_TRY_STATUS(check_rate(*workload, record.race_seconds, "race_seconds"));
  if (const auto target = parse_target(run.target); !target)
    return fail_at("member \"target\"", ErrorKind::kInvalidArgument, "{}", target.error().text());
  if (const auto trace = schedule::trace_from_json(record.trace); !trace)
    return fail_at("member \"trace\"", ErrorKind::kInvalidArgument, "{}", trace.error().text());
  return {};
}

Result<std::optional<store::Record>> best_comparable(store::Store& store, store::Query query) {
  // A database may tell of targets that this Lathe does not know.
  if (const auto target = parse_target(query.target)) {
    query.codegen_version = LATHE_TRY(codegen_version(*target));
    if (auto own = LATHE_TRY(store.best(query))) return own;
    query.codegen_version.reset();
  }
  return store.best(query);
}

namespace {

void add_sentence(std::string& note, const std::string& sentence) {
  note += (note.empty() ? "" : "; ") + sentence;
}

// The target with fewer threads, for each number that a run of the query's workload and caches has;
// the most first.
Result<std::vector<Target>> with_fewer_threads(store::Store& store, const store::Query& query,
                                               const Target& target) {
  std::set<int, std::greater<>> numbers;
  for (const store::Run& run : LATHE_TRY(store.runs())) {
    if (run.workload != query.workload || run.cache_mode != query.cache_mode) continue;
    const auto on = parse_target(run.target);
    if (!on || on->kind() != target.kind()) continue;
    Target alike = target;
    alike.set_threads(on->threads());
    if (alike == *on && on->threads() < target.threads()) numbers.insert(on->threads());
  }
  std::vector<Target> fewer;
  for (const int threads : numbers) {
    fewer.push_back(target);
    fewer.back().set_threads(threads);
  }
  return fewer;
}

// Whether a run says that there are trials. Where there are none, they may be lost.
Result<bool> should_have_trials(store::Store& store, const store::Query& query) {
  return std::ranges::any_of(LATHE_TRY(store.runs()), [&](const store::Run& run) {
    return run.workload == query.workload && run.target == query.target &&
           run.cache_mode == query.cache_mode;
  });
}

// Of this machine, else of another one.
Result<std::optional<Applicable>> best_for(store::Store& store, store::Query query,
                                           const te::Workload& workload, const Target& target,
                                           PassedOver& passed) {
  query.target = target.text();
  query.cpu = measure::machine_for(target).cpu();
  if (auto own = LATHE_TRY(best_applicable(store, query, workload, target, passed))) return own;
  query.cpu.clear();
  return best_applicable(store, query, workload, target, passed);
}

std::string fewer_threads_note(const Target& taken, const Target& asked) {
  return fmt::format(
      "nothing for {0} threads is on record; the best for {1} is taken, and runs with {1}; lathe "
      "tune with --threads {0} finds one for {0}, on as many processors",
      asked.threads(), taken.threads());
}

}  // namespace

Result<std::optional<Chosen>> best_record(const te::Workload& workload, const Target& target,
                                          store::Store& store, CacheMode cache_mode) {
  const store::Query query = {
      .workload = te::workload_key(workload), .target = target.text(), .cache_mode = cache_mode};
  PassedOver passed;
  Target taken = target;
  auto best = LATHE_TRY(best_for(store, query, workload, target, passed));
  if (!best && target.threads() > 1)
    for (const Target& fewer : LATHE_TRY(with_fewer_threads(store, query, target))) {
      if (best) break;
      taken = fewer;
      best = LATHE_TRY(best_for(store, query, workload, fewer, passed));
    }
  if (best) {
    Chosen chosen{std::move(best->trace), taken, std::move(best->record), ""};
    if (!passed.records.empty())
      add_sentence(chosen.note,
                   fmt::format("{}, the fastest on record, does not apply any more; "
                               "the next that does is taken, trial {} of run {}",
                               passed.first, chosen.record->index, chosen.record->run));
    if (taken != target) add_sentence(chosen.note, fewer_threads_note(taken, target));
    return chosen;
  }
  if (!passed.records.empty())
    return fail(ErrorKind::kNotFound,
                "none of {} recorded programs of this workload applies any more, the fastest "
                "being {}; run lathe tune with the same arguments",
                passed.records.size(), passed.first);
  if (LATHE_TRY(should_have_trials(store, query))) LATHE_TRY_STATUS(store.check());
  return std::nullopt;
}

Result<Target> recorded_target(store::Store& store, store::Query query, const Target& target) {
  query.target = target.text();
  if (target.threads() == 1 || LATHE_TRY(store.count(query)) > 0) return target;
  for (const Target& fewer : LATHE_TRY(with_fewer_threads(store, query, target))) {
    query.target = fewer.text();
    if (LATHE_TRY(store.count(query)) > 0) return fewer;
  }
  return target;
}

namespace {

// The flags that lead from the request to this run; "" if none do.
std::string flags_between(const te::Workload& workload, const Target& target, CacheMode cache_mode,
                          const store::Run& run) {
  const auto other = te::parse_workload(run.workload);
  const auto on = parse_target(run.target);
  if (!other || !on) return "";
  te::Workload same = workload;
  same.contract = other->contract;
  if (te::workload_key(same) != run.workload) return "";
  std::string flags;
  const auto add = [&](const std::string& flag) { flags += (flags.empty() ? "" : " ") + flag; };
  if (other->contract.free_layout != workload.contract.free_layout)
    add(fmt::format("--layout {}", other->contract.free_layout ? "free" : "plain"));
  if (other->contract.max_error != workload.contract.max_error)
    add(fmt::format("--max-error {}", other->contract.max_error));
  if (!other->contract.algorithm.empty()) add("--algorithm " + other->contract.algorithm);
  else if (other->contract.level() != workload.contract.level())
    add(fmt::format("--numerics {}", te::name_of(other->contract.level())));
  Target alike = target;
  alike.set_threads(on->threads());
  if (alike != *on) add("--target '" + run.target + "'");
  else if (target.threads() < on->threads())  // fewer serve as they are
    add(fmt::format("--threads {}", on->threads()));
  if (run.cache_mode != cache_mode) add(fmt::format("--cache {}", name_of(run.cache_mode)));
  return flags;
}

}  // namespace

Result<std::string> other_flags(store::Store& store, const te::Workload& workload,
                                const Target& target, CacheMode cache_mode) {
  std::string nearest;  // with the fewest flags
  for (const store::Run& run : LATHE_TRY(store.runs())) {
    const std::string flags = flags_between(workload, target, cache_mode, run);
    if (flags.empty() || (!nearest.empty() && nearest.size() <= flags.size())) continue;
    const store::Query query = {
        .workload = run.workload, .target = run.target, .cache_mode = run.cache_mode, .ok = true};
    if (LATHE_TRY(store.count(query)) > 0) nearest = flags;
  }
  return nearest;
}

namespace {

Result<Chosen> best_on_record(const te::Workload& workload, const Target& target,
                              const ScheduleRequest& request) {
  const auto store = LATHE_TRY(open_existing(request.database));
  auto best = best_record(workload, target, *store, request.cache_mode);
  if (!best && best.error().place.empty()) best.error().place = request.database;
  auto chosen = LATHE_TRY(std::move(best));
  if (!chosen) {
    const std::string others = LATHE_TRY(other_flags(*store, workload, target, request.cache_mode));
    return fail_at(request.database, ErrorKind::kNotFound,
                   "no schedule is recorded for this workload on {} with a {} cache{}; run lathe "
                   "tune with the same arguments",
                   target.text(), name_of(request.cache_mode),
                   others.empty() ? "" : ", but one is with " + others);
  }
  if (chosen->record->cpu != measure::machine_for(target).cpu())
    add_sentence(chosen->note,
                 fmt::format("the best record was measured on another {} ({}); run lathe tune here "
                             "for a better one",
                             target.has_threads() ? "CPU model" : "device", chosen->record->cpu));
  return std::move(*chosen);
}

Result<Chosen> best_or_advice(const te::Workload& workload, const Target& target,
                              const ScheduleRequest& request) {
  auto chosen = best_on_record(workload, target, request);
  if (!chosen && chosen.error().kind == ErrorKind::kNotFound)
    chosen.error().message += ", or give --schedule default";
  return chosen;
}

// Whether somewhere two different elements are multiplied.
bool multiplies_elements(const ir::Expr& body) {
  bool found = false;
  ir::for_each_node(body, [&](const ir::Expr& e) {
    const auto* product = std::get_if<ir::Binary>(&e->value);
    found |= product != nullptr && product->op == ir::BinaryOp::kMul &&
             !ir::reads_of(product->a).empty() && !ir::reads_of(product->b).empty() &&
             !ir::equal(product->a, product->b);
  });
  return found;
}

// Whether the models choose well among a space's programs, unmeasured. They compare algorithms
// badly, and what only moves, compares or adds up elements: the default is faster there.
bool models_choose_well(const te::Workload& workload, const space::Space& space) {
  const auto is_algorithm = [](const space::Knob& knob) {
    return knob.name == "algorithm" || knob.name == "algebra.kept";
  };
  if (std::ranges::any_of(space.knob_list(), is_algorithm)) return false;
  int reductions = 0, contractions = 0;
  for (const te::Stage& stage : workload.stages) {
    reductions += stage.reduce != ir::ReduceOp::kNone;
    contractions += stage.reduce == ir::ReduceOp::kSum && multiplies_elements(stage.body);
  }
  return reductions == 1 && contractions == 1;
}

Result<Chosen> analytic_default(const te::Workload& workload, const Target& target,
                                const ScheduleRequest& request) {
  const auto space = LATHE_TRY(space_of_key(workload, target, request.flavour));
  return Chosen{space->trace(space->default_config()), target};
}

Result<Chosen> predicted_best(const te::Workload& workload, const Target& target,
                              const ScheduleRequest& request) {
  const auto space = LATHE_TRY(space_of_key(workload, target, request.flavour));
  if (!models_choose_well(workload, *space))
    return Chosen{space->trace(space->default_config()), target};
  PredictRequest predict = {{workload}, target, request.database, {}, {}};
  predict.options.run.flavour = request.flavour;
  predict.options.run.cache_mode = request.cache_mode;
  return Chosen{LATHE_TRY(predict_schedule(predict)).trace, target};
}

Result<Chosen> naive_loops(const te::Workload&, const Target& target, const ScheduleRequest&) {
  return Chosen{{}, target};
}

struct NamedSource {
  const char* name;
  Result<Chosen> (*choose)(const te::Workload& workload, const Target& target,
                           const ScheduleRequest& request);
};
constexpr NamedSource kSources[] = {{"best", best_or_advice},
                                    {"predicted", predicted_best},
                                    {"default", analytic_default},
                                    {"naive", naive_loops}};

// Always the steps in this file, whatever the workload.
Result<ScheduleSource> steps_in_file(const std::string& path) {
  const auto located = [&](Error error) {
    error.place = error.place.empty() ? path : path + ", " + error.place;
    return std::unexpected(std::move(error));
  };
  const std::string text = LATHE_TRY(read_file(path));
  auto json = parse_json(text);
  if (!json) return located(std::move(json).error());
  auto trace = schedule::trace_from_json(*json);
  if (!trace) return located(std::move(trace).error());
  return
      [steps = *trace](const te::Workload&, const Target& target) { return Chosen{steps, target}; };
}

}  // namespace

te::Workload scheduled_workload(const te::Workload& workload, const Chosen& chosen) {
  te::Workload out = workload;
  if (chosen.repacks)
    for (te::Tensor& tensor : out.tensors) tensor.constant = false;
  return out;
}

std::vector<std::string> known_sources() {
  std::vector<std::string> names;
  for (const NamedSource& source : kSources) names.emplace_back(source.name);
  return names;
}

Result<ScheduleSource> schedule_source(const ScheduleRequest& request) {
  for (const NamedSource& source : kSources)
    if (request.which == source.name)
      return [request, choose = source.choose](const te::Workload& workload, const Target& target) {
        return choose(workload, target, request);
      };
  if (request.which.ends_with(".json") || request.which.find('/') != std::string::npos)
    return steps_in_file(request.which);
  return fail_at("--schedule", ErrorKind::kInvalidArgument,
                 "unknown schedule \"{}\"; known are {}, and files .json with a trace{}",
                 request.which, fmt::join(known_sources(), ", "),
                 did_you_mean(known_sources(), request.which));
}

ScheduleSource else_default(ScheduleSource source) {
  return [source = std::move(source)](const te::Workload& workload, const Target& target) {
    auto chosen = source(workload, target);
    if (chosen || chosen.error().kind != ErrorKind::kNotFound) return chosen;
    return analytic_default(workload, target, {});
  };
}

ScheduleSource recorded_schedules(const ScheduleRequest& request) {
  return [request](const te::Workload& workload, const Target& target) {
    return best_on_record(workload, target, request);
  };
}

}  // namespace lathe::api
