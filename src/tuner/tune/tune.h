// Algorithm 1 of the paper as a resumable run over the store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/measure/measure.h"
#include "tuner/model/model.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"

namespace lathe::tune {

struct Options {
  int trials = 512;                  // total of the run: the same command goes on
  double seconds = 0;                // wall time limit; 0: none
  int batch = 64;                    // b of Algorithm 1
  std::string search = "annealing";  // annealing, random, genetic
  std::string model = "xgb-rank";    // xgb-rank, xgb-reg, none
  std::string features = "context";  // configuration, context, relation
  search::Options exploration;
  std::uint64_t seed = 0;
  bool fresh = false;                // do not learn from other runs' records
  int jobs = 2;
  space::Flavour flavour = space::Flavour::kDefault;
  std::string cache_mode = "warm";
};

// What progress lines, logs and reports subscribe to.
struct Progress {
  int trials = 0, failed = 0, resumed = 0;    // resumed: found finished in the store
  std::string main_failure;                   // most frequent reason, "" if none failed
  double best_seconds = 0;                    // 0: none yet
  double trials_per_second = 0, elapsed_seconds = 0, left_seconds = 0;
  std::string phase;                          // "reference", "building", "measuring", "training", "searching", "racing"
};
using Listener = std::function<void(const Progress&)>;

struct Summary {
  std::string workload, target;
  int trials = 0, failed = 0, wrong = 0;
  double seconds = 0;                         // wall
  double flops = 0;
  store::Record best;                         // ok() false if nothing worked
  bool interrupted = false, exhausted = false;
  struct { double build = 0, run = 0, model = 0, search = 0, reference = 0; } spent;
};

// Runs until the trials, the time or the space are used up, or stop() says so. Every finished trial is in the store
// before the next batch is proposed.
Result<Summary> tune(const space::Space& space, measure::Measurer& measurer, store::Store& store, const Target& target,
                     const Options& options, const Listener& listener, const std::function<bool()>& stop);

}  // namespace lathe::tune
