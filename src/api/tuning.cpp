#include "api/tuning.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "api/learning.h"
#include "api/targets.h"
#include "api/workload.h"
#include "compiler/te/work.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"

namespace lathe::api {
namespace {

constexpr double kLeastSeconds = 0.01;  // what must be left of a time limit

// Names the traffic: workloads that move as much have one bandwidth.
std::string traffic_name(const te::Workload& workload, CacheMode cache_mode) {
  double read = 0, written = 0;
  for (const te::Tensor& tensor : workload.tensors) {
    double bytes = size_of(tensor.dtype);
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<double>(size);
    if (tensor.role == te::TensorRole::kInput) read += bytes;
    if (tensor.role == te::TensorRole::kOutput) written += bytes;
  }
  return fmt::format("{}/{:.0f}/{:.0f}", name_of(cache_mode), read, written);
}

}  // namespace

Traffic traffic_of(const te::Workload& workload) {
  return {te::done_flops(workload), te::io_bytes(workload), 0};
}

Result<double> peak_of(store::Store& store, measure::Measurer& measurer, const Target& target) {
  const std::string machine = measurer.machine().text();
  LATHE_TRY_STATUS(store::note_speed(store, machine, target.text(),
                                     {.peak_flops = LATHE_TRY(measurer.peak_flops())}));
  return LATHE_TRY(store::machine_speed(store, machine, target.text())).peak_flops;
}

Result<double> known_bandwidth(store::Store& store, const std::string& fingerprint,
                               const std::string& target, const te::Workload& workload,
                               CacheMode cache_mode) {
  return store::note_bandwidth(store, fingerprint, target, traffic_name(workload, cache_mode), 0);
}

Result<double> bandwidth_of(store::Store& store, measure::Measurer& measurer,
                            const te::Workload& workload, const Target& target,
                            CacheMode cache_mode) {
  const std::string machine = measurer.machine().text();
  const double known =
      LATHE_TRY(known_bandwidth(store, machine, target.text(), workload, cache_mode));
  if (known > 0) return known;
  return store::note_bandwidth(store, machine, target.text(), traffic_name(workload, cache_mode),
                               LATHE_TRY(measurer.bandwidth()));
}

Result<Tuned> run_tuning(const TuneRequest& request, const TuneListener& listener,
                         const std::function<bool()>& stop) {
  const auto began = std::chrono::steady_clock::now();
  const auto say = [&](const tune::Progress& progress, double peak) {
    if (listener) listener(progress, peak);
  };
  tune::Progress starting;
  starting.wanted = request.options.run.trials;
  say(starting, 0);
  // Checks the names before it starts anything.
  LATHE_TRY_STATUS(check_timed_here(request.target));
  LATHE_TRY(tune::searcher_of(request.options));
  LATHE_TRY(tune::model_of(request.options, false));
  const auto store = LATHE_TRY(store::open_sqlite(request.database));
  // Records of a key concern the workload in the key's own names.
  const te::Workload workload = te::canonical(request.task.workload);
  const auto space =
      LATHE_TRY(space_of_key(request.task.workload, request.target, request.options.run.flavour));
  Tuned tuned;
  tuned.task = request.task;
  tune::Options options = request.options;
  options.run.codegen_version = LATHE_TRY(codegen_version(request.target));
  tuned.origin = LATHE_TRY(begin_from_others(request.global_model, te::workload_key(workload),
                                             request.target, store.get(), options));
  measure::Options measuring;
  measuring.jobs = request.options.run.jobs;
  measuring.cache = request.options.run.cache_mode;
  const auto session =
      LATHE_TRY((request.open_session ? request.open_session : measure::open_session)(
          request.target, measuring));
  const auto measurer = LATHE_TRY(measure::make_measurer(session, workload));
  starting.doing = "measuring the machine's peak";
  say(starting, 0);
  tuned.peak_flops = LATHE_TRY(peak_of(*store, *measurer, request.target));
  tuned.traffic = traffic_of(workload);
  tuned.traffic.bandwidth =
      LATHE_TRY(bandwidth_of(*store, *measurer, workload, request.target, options.run.cache_mode));
  tuned.options = options;
  // The limit is the command's, so what came before the first trial counts.
  const std::chrono::duration<double> past = std::chrono::steady_clock::now() - began;
  if (options.run.seconds > 0)
    options.run.seconds = std::max(kLeastSeconds, options.run.seconds - past.count());
  tuned.summary = LATHE_TRY(tune::tune(
      *space, *measurer, *store, request.target, options,
      [&](const tune::Progress& progress) { say(progress, tuned.peak_flops); }, stop));
  // A race may have seen a higher peak.
  const std::string machine = measurer->machine().text();
  tuned.peak_flops =
      LATHE_TRY(store::machine_speed(*store, machine, request.target.text())).peak_flops;
  if (const auto config = space->from_json(tuned.summary.best.config))
    tuned.config = space->describe(*config);
  return tuned;
}

Result<Measurement> measure_once(const te::Workload& workload, const Target& target,
                                 const schedule::Trace& trace, CacheMode cache_mode, int jobs) {
  measure::Options options;
  options.jobs = jobs;
  options.cache = cache_mode;
  options.timeout_seconds = 300;
  options.min_seconds = 0.05;
  // The naive loops may take seconds a call, and such long times are steady.
  options.visits = trace.empty() ? 1 : 5;
  LATHE_TRY_STATUS(check_timed_here(target));
  const auto measurer = LATHE_TRY(measure::make_measurer(te::canonical(workload), target, options));
  Measurement out;
  out.flops = te::flops(workload);
  out.traffic = traffic_of(workload);
  out.peak_flops = LATHE_TRY(measurer->peak_flops());
  out.traffic.bandwidth = LATHE_TRY(measurer->bandwidth());
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
  LATHE_TRY_STATUS(measurer->measure({{0, trace}}, std::numeric_limits<double>::infinity(), done,
                                     [] { return false; }));
  LATHE_TRY_STATUS(status);
  // The machine may have been slower before than while the program ran.
  out.peak_flops = std::max(out.peak_flops, LATHE_TRY(measurer->peak_flops()));
  out.traffic.bandwidth = std::max(out.traffic.bandwidth, LATHE_TRY(measurer->bandwidth()));
  return out;
}

}  // namespace lathe::api
