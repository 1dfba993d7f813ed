#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include "api/report/describe.h"
#include "api/report/failures.h"
#include "api/report/knobs.h"
#include "api/report/progress.h"
#include "api/report/quality.h"
#include "api/schedules.h"
#include "api/tuning.h"
#include "api/views.h"
#include "compiler/schedule/step.h"
#include "compiler/te/parse.h"
#include "tuner/learn/spread.h"

namespace lathe::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNear = 1.05;  // "within 5 %" takes in times of up to this many times the fastest

// All trials of one workload, target, cache mode and CPU.
struct Section {
  WorkloadReport workload;
  std::vector<Trial> trials;
  SettingTable table;
  FailureTable failures;
};
using SectionKey = std::tuple<std::string, std::string, CacheMode, std::string>;

Trial trial_of(const store::Record& record, SettingTable& table) {
  Trial trial;
  trial.run = record.run;
  trial.batch = record.batch;
  trial.index = record.index;
  trial.codegen_version = record.codegen_version;
  trial.seconds = record.ok() ? record.seconds : kInfinity;
  trial.score = record.predicted_score;
  trial.clock = clock_of(record.time);
  trial.spent = {record.build_seconds, record.run_seconds, record.model_seconds,
                 record.search_seconds};
  trial.settings = table.ids_of(record.config);
  return trial;
}

void add(Section& section, const store::Record& record) {
  WorkloadReport& w = section.workload;
  ++w.trials;
  w.failed += !record.ok();
  w.wrong += record.error_kind == name_of(ErrorKind::kWrongAnswer);
  if (record.time >= w.latest) {
    w.latest = record.time;
    w.fingerprint = record.fingerprint;
  }
  if (!record.ok()) section.failures.add(record);
  section.trials.push_back(trial_of(record, section.table));
}

Result<std::vector<Section>> read_sections(store::Store& store,
                                           const std::set<std::string>* wanted) {
  std::map<SectionKey, Section> sections;
  LATHE_TRY_STATUS(store.each({.summary = true}, [&](const store::Record& r) {
    if (wanted != nullptr && !wanted->contains(r.workload)) return true;
    Section& section = sections[{r.workload, r.target, r.cache_mode, r.cpu}];
    if (section.trials.empty()) {
      section.workload.key = r.workload;
      section.workload.target = r.target;
      section.workload.cache_mode = r.cache_mode;
      section.workload.cpu = r.cpu;
    }
    add(section, r);
    return true;
  }));
  std::vector<Section> out;
  for (auto& [key, section] : sections) out.push_back(std::move(section));
  std::ranges::stable_sort(out, std::greater(), [](const Section& s) { return s.workload.latest; });
  return out;
}

// The trials of each run in the order in which they were finished, or in the store's order where
// clocks do not tell.
std::map<std::pair<std::int64_t, int>, std::vector<const Trial*>> by_run(
    const std::vector<Trial>& trials) {
  std::map<std::pair<std::int64_t, int>, std::vector<const Trial*>> out;
  for (const Trial& trial : trials) out[{trial.run, trial.codegen_version}].push_back(&trial);
  for (auto& [run, of_run] : out)
    if (std::ranges::none_of(of_run, [](const Trial* t) { return std::isnan(t->clock); }))
      std::ranges::stable_sort(of_run, {}, &Trial::clock);
  return out;
}

double fastest_of(const std::vector<Trial>& trials, int codegen_version) {
  double fastest = kInfinity;
  for (const Trial& trial : trials)
    if (trial.codegen_version == codegen_version) fastest = std::min(fastest, trial.seconds);
  return fastest;
}

RunReport report_of(const store::Run& run, Trials trials, double fastest, const Work& work) {
  RunReport report;
  report.run = run;
  report.codegen_version = trials.front()->codegen_version;
  report.trials = static_cast<int>(trials.size());
  report.failed = static_cast<int>(std::ranges::count(trials, kInfinity, &Trial::seconds));
  const double best = std::ranges::min(trials, {}, &Trial::seconds)->seconds;
  report.best_seconds = best < kInfinity ? best : 0;
  if (fastest < kInfinity) report.trials_to_95 = trials_until(trials, kNear * fastest);
  const std::vector<double> seconds = seconds_at_work(trials);
  report.seconds = seconds.back();
  std::vector<double> numbers;
  for (const Trial* trial : trials) {
    report.spent += trial->spent;
    numbers.push_back(static_cast<double>(numbers.size() + 1));
  }
  report.over_trials = best_so_far(trials, numbers, work);
  report.over_seconds = best_so_far(trials, seconds, work);
  report.quality = model_quality(trials);
  return report;
}

Result<std::string> program_of(const store::Record& record, Best& best) {
  api::ViewRequest request;
  request.what = "scheduled";
  request.trace = LATHE_TRY(schedule::trace_from_json(record.trace));
  best.trace = schedule::print(request.trace);
  request.workload = LATHE_TRY(te::parse_workload(record.workload));
  return api::view(request);
}

Best best_of(store::Record record) {
  Best best;
  best.spread = learn::spread_of(record);
  auto program = program_of(record, best);
  if (program) best.program = std::move(*program);
  else best.problem = program.error().text();
  best.record = std::move(record);
  return best;
}

// The time of the earliest run's first trial, if it succeeded.
double first_seconds(const std::vector<const Trial*>& latest) {
  const auto first = std::ranges::find(latest, 0, &Trial::index);
  return first == latest.end() || (*first)->seconds == kInfinity ? 0 : (*first)->seconds;
}

Status finish(store::Store& store, Section& section,
              const std::map<std::int64_t, store::Run>& runs) {
  WorkloadReport& w = section.workload;
  w.failures = section.failures.summary();
  w.peak_flops = LATHE_TRY(store::machine_speed(store, w.fingerprint, w.target)).peak_flops;
  if (const auto workload = te::parse_workload(w.key))
    w.bandwidth =
        LATHE_TRY(api::known_bandwidth(store, w.fingerprint, w.target, *workload, w.cache_mode));
  if (auto record = LATHE_TRY(api::best_comparable(
          store,
          {.workload = w.key, .target = w.target, .cache_mode = w.cache_mode, .cpu = w.cpu})))
    w.best = best_of(std::move(*record));
  for (const auto& [id, trials] : by_run(section.trials)) {
    const auto run = runs.find(id.first);
    if (run != runs.end())
      w.runs.push_back(
          report_of(run->second, trials, fastest_of(section.trials, id.second), w.work));
  }
  const int version =
      w.best ? w.best->record.codegen_version
             : std::ranges::max(section.trials, {}, &Trial::codegen_version).codegen_version;
  std::vector<const Trial*> latest;
  for (const Trial& trial : section.trials)
    if (trial.codegen_version == version) latest.push_back(&trial);
  w.knobs = shared_knobs(latest, section.table);
  w.first_seconds = first_seconds(latest);
  return {};
}

}  // namespace

Result<Report> gather(store::Store& store, const std::set<std::string>* wanted) {
  std::map<std::int64_t, store::Run> runs;
  for (auto& run : LATHE_TRY(store.runs())) runs[run.id] = std::move(run);
  auto sections = LATHE_TRY(read_sections(store, wanted));
  if (sections.empty() && wanted == nullptr) {
    LATHE_TRY_STATUS(store.check());  // they may be lost
    return fail(ErrorKind::kNotFound, "the database holds no trials yet; run lathe tune first");
  }
  const Describer describer;
  Report report;
  for (Section& section : sections) {
    describer.describe(section.workload);
    LATHE_TRY_STATUS(finish(store, section, runs));
    report.workloads.push_back(std::move(section.workload));
  }
  return report;
}

}  // namespace lathe::report
