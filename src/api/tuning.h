// One tuning run with every part it needs, and one careful measurement.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/learning.h"
#include "base/result.h"
#include "base/target.h"
#include "compiler/te/workload.h"
#include "tuner/measure/measure.h"
#include "tuner/tune/task.h"
#include "tuner/tune/tune.h"

namespace lathe::api {

struct TuneRequest {
  tune::Task task;
  Target target;
  std::string database;
  // File of a global model; empty: what the database teaches, if options.model.transfer.
  std::string global_model;
  tune::Options options;
  // Where the helpers come from; empty: they are the run's own.
  std::function<decltype(measure::open_session)> open_session;
};

// What a workload asks of the machine besides the arithmetic that te::flops counts.
struct Traffic {
  // Operations that must be done; the share of the peak is theirs.
  double done_flops = 0;
  double bytes = 0;  // inputs read once, outputs written once
  // Bytes a second that the machine moves when it does nothing else; 0: unknown.
  double bandwidth = 0;
};
Traffic traffic_of(const te::Workload& workload);

struct Tuned {
  tune::Task task;
  tune::Summary summary;
  tune::Options options;  // of the run
  double peak_flops = 0;  // of the machine, on the target's threads
  Traffic traffic;        // of the workload; in a replay the bandwidth is 0
  std::string config;     // of the best record, as text
  Origin origin;
  // True if the times are a recording's; then nothing tells of this run's own time.
  bool replayed = false;
  // That the task's graph spends in it, with the best program on record.
  double graph_seconds() const { return tune::graph_seconds(task, summary.best_seconds()); }
};

// Also gets the machine's peak in FLOP/s; 0 while it is not known.
using TuneListener = std::function<void(const tune::Progress&, double peak)>;

Result<Tuned> run_tuning(const TuneRequest& request, const TuneListener& listener,
                         const std::function<bool()>& stop);

// The peak in FLOP/s. It measures for a moment, which other processes may disturb. So it returns
// the highest peak that any run of this store, this one included, saw on this machine with as many
// threads. The store keeps it.
Result<double> peak_of(store::Store& store, measure::Measurer& measurer, const Target& target);
// Bytes a second: the same for memory, for the traffic of one workload in one cache mode. If it is
// known, it is not measured again.
Result<double> bandwidth_of(store::Store& store, measure::Measurer& measurer,
                            const te::Workload& workload, const Target& target,
                            CacheMode cache_mode);
// The bandwidth that runs of the store found on a machine (a fingerprint's text); 0 if none did.
Result<double> known_bandwidth(store::Store& store, const std::string& fingerprint,
                               const std::string& target, const te::Workload& workload,
                               CacheMode cache_mode);

struct Measurement {
  double seconds = 0, flops = 0, peak_flops = 0, numerical_error = 0;
  Traffic traffic;
};
// Builds, checks and times one schedule in processes of their own. A naive schedule may take long.
Result<Measurement> measure_once(const te::Workload& workload, const Target& target,
                                 const schedule::Trace& trace, CacheMode cache_mode, int jobs);

}  // namespace lathe::api
