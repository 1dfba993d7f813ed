#include "api/tuning.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "api/learning.h"
#include "api/workload.h"
#include "compiler/codegen/llvm/codegen.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"

namespace lathe::api {
namespace {

// Under which name a store keeps the peak of a machine on a target's threads.
std::string peak_key(const std::string& fingerprint, const std::string& target) {
  return "peak/" + fingerprint + "/" + target;
}

}  // namespace

measure::CacheMode cache_of(const std::string& name) {
  return name == "cold" ? measure::CacheMode::kCold : measure::CacheMode::kWarm;
}

Result<double> known_peak(store::Store& store, const std::string& fingerprint, const std::string& target) {
  double peak = 0;
  if (const auto text = LATHE_TRY(store.get(peak_key(fingerprint, target))))
    std::from_chars(text->data(), text->data() + text->size(), peak);
  return peak;
}

Result<double> peak_of(store::Store& store, measure::Measurer& measurer, const Target& target) {
  const std::string machine = host_fingerprint().text();
  const double now = LATHE_TRY(measurer.peak_flops());
  const double before = LATHE_TRY(known_peak(store, machine, target.text()));
  if (now > before) LATHE_TRY_STATUS(store.put(peak_key(machine, target.text()), fmt::format("{}", now)));
  return std::max(now, before);
}

Result<Tuned> run_tuning(const TuneRequest& request, const TuneListener& listener, const std::function<bool()>& stop) {
  const auto say = [&](const tune::Progress& progress, double peak) {
    if (listener) listener(progress, peak);
  };
  tune::Progress starting;
  starting.phase = "starting";
  starting.wanted = request.options.trials;
  say(starting, 0);
  // The names are checked before anything is started.
  LATHE_TRY_STATUS(check_runs_here(request.target));
  LATHE_TRY(tune::searcher_named(request.options.search, request.options.exploration));
  LATHE_TRY(tune::model_of(request.options));
  const auto store = LATHE_TRY(store::open_sqlite(request.database));
  // Records of a key are about the program in the key's own names.
  const te::Program program = te::canonical(request.program);
  const auto space = LATHE_TRY(space::derive_space(program, request.target, request.options.flavour));
  Tuned tuned;
  tune::Options options = request.options;
  options.codegen_version = codegen::kVersion;
  tuned.origin = LATHE_TRY(
      begin_from_others(request.global_model, te::workload_key(program), request.target, store.get(), options));
  measure::Options measuring;
  measuring.jobs = request.options.jobs;
  measuring.cache = cache_of(request.options.cache_mode);
  const auto measurer = LATHE_TRY(measure::make_measurer(program, request.target, measuring));
  starting.phase = "measuring the machine's peak";
  say(starting, 0);
  tuned.peak_flops = LATHE_TRY(peak_of(*store, *measurer, request.target));
  tuned.summary = LATHE_TRY(tune::tune(*space, *measurer, *store, request.target, options,
                                       [&](const tune::Progress& progress) { say(progress, tuned.peak_flops); }, stop));
  if (const auto config = space->from_json(tuned.summary.best.config)) tuned.config = space->describe(*config);
  return tuned;
}

Result<Measurement> measure_once(const te::Program& program, const Target& target, const schedule::Trace& trace,
                                 const std::string& cache_mode, int jobs) {
  measure::Options options;
  options.jobs = jobs;
  options.cache = cache_of(cache_mode);
  options.timeout_seconds = 300;
  options.min_seconds = 0.05;
  options.visits = trace.empty() ? 1 : 5;  // the naive loops may take seconds a call, and such long times are steady
  LATHE_TRY_STATUS(check_runs_here(target));
  const auto measurer = LATHE_TRY(measure::make_measurer(te::canonical(program), target, options));
  Measurement out;
  out.flops = te::flops(program);
  out.peak_flops = LATHE_TRY(measurer->peak_flops());
  Status status = fail(ErrorKind::kInternal, "nothing was measured");
  const auto done = [&](measure::Outcome outcome) {
    if (outcome.error) {
      status = std::unexpected(*outcome.error);
      return;
    }
    out.seconds = outcome.seconds;
    out.numerical_error = outcome.numerical_error;
    status = {};
  };
  LATHE_TRY_STATUS(measurer->measure({{0, trace}}, std::numeric_limits<double>::infinity(), done, [] { return false; }));
  LATHE_TRY_STATUS(status);
  return out;
}

}  // namespace lathe::api
