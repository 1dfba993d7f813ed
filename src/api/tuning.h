// One tuning run with every part it needs, and one careful measurement.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/learning.h"
#include "base/result.h"
#include "base/target.h"
#include "compiler/te/program.h"
#include "tuner/measure/measure.h"
#include "tuner/tune/tune.h"

namespace lathe::api {

struct TuneRequest {
  te::Program program;
  Target target;
  std::string database;
  // file of one; empty: what the database teaches, if options.model.transfer
  std::string global_model;
  tune::Options options;
};

// What a workload asks of the machine besides its arithmetic as the field counts it (te::flops).
struct Traffic {
  // that have to be done: the share of the peak is theirs
  double done_flops = 0;
  double bytes = 0;  // inputs read once, outputs written once
  // bytes a second that the machine moves when it does nothing else; 0: unknown
  double bandwidth = 0;
};
Traffic traffic_of(const te::Program& program);

struct Tuned {
  tune::Summary summary;
  tune::Options options;  // of the run
  double peak_flops = 0;  // of the machine, on the target's threads
  Traffic traffic;        // of the workload; the bandwidth 0 in a replay
  std::string config;     // of the best, as text
  Origin origin;
  // times are a recording's: nothing tells of this run's own
  bool replayed = false;
};

// By the name that options and records have, "warm" or "cold".
measure::CacheMode cache_of(const std::string& name);

// Also told the machine's peak in FLOP/s; 0 while it is not known.
using TuneListener = std::function<void(const tune::Progress&, double peak)>;

Result<Tuned> run_tuning(const TuneRequest& request, const TuneListener& listener,
                         const std::function<bool()>& stop);

// FLOP/s: measures it, a moment's work that another program may disturb. The highest that any run
// of this store on this machine and thread count has seen, this one included; kept in the store.
Result<double> peak_of(store::Store& store, measure::Measurer& measurer, const Target& target);
// Bytes a second: the same of the memory, for the traffic of one program in one cache mode. Not
// measured again where it is known.
Result<double> bandwidth_of(store::Store& store, measure::Measurer& measurer,
                            const te::Program& program, const Target& target,
                            const std::string& cache_mode);
// What runs of the store have found it to be on a machine (a fingerprint's text); 0 if none has.
Result<double> known_bandwidth(store::Store& store, const std::string& fingerprint,
                               const std::string& target, const te::Program& program,
                               const std::string& cache_mode);

struct Measurement {
  double seconds = 0, flops = 0, peak_flops = 0, numerical_error = 0;
  Traffic traffic;
};
// Builds, checks and times one schedule in processes of their own. A naive program may take long.
Result<Measurement> measure_once(const te::Program& program, const Target& target,
                                 const schedule::Trace& trace, const std::string& cache_mode,
                                 int jobs);

}  // namespace lathe::api
