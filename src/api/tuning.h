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
  std::string global_model;                    // file of one; empty: what the database teaches, if options.transfer
  tune::Options options;
};

struct Tuned {
  tune::Summary summary;
  double peak_flops = 0;                       // of the machine, on the target's threads
  std::string config;                          // of the best, as text
  Origin origin;
  bool replayed = false;                       // times are a recording's: nothing tells of this run's own
};

// By the name that options and records have, "warm" or "cold".
measure::CacheMode cache_of(const std::string& name);

// Also told the machine's peak in FLOP/s; 0 while it is not known.
using TuneListener = std::function<void(const tune::Progress&, double peak)>;

Result<Tuned> run_tuning(const TuneRequest& request, const TuneListener& listener, const std::function<bool()>& stop);

// Peak of a machine (a fingerprint's text) on a target's threads in FLOP/s, as runs have measured it; 0 if none has.
Result<double> known_peak(store::Store& store, const std::string& fingerprint, const std::string& target);
// FLOP/s: measures it, a moment's work that another program may disturb. The highest that any run of this store on this machine
// and thread count has seen, this one included; kept in the store.
Result<double> peak_of(store::Store& store, measure::Measurer& measurer, const Target& target);

struct Measurement {
  double seconds = 0, flops = 0, peak_flops = 0, numerical_error = 0;
};
// Builds, checks and times one schedule in processes of their own. A naive program may take long.
Result<Measurement> measure_once(const te::Program& program, const Target& target, const schedule::Trace& trace,
                                 const std::string& cache_mode, int jobs);

}  // namespace lathe::api
