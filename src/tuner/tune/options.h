// What a run is told, by what it concerns. `option_list.h` lists what a user may choose.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/cache_mode.h"
#include "base/result.h"
#include "tuner/model/model.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"

namespace lathe::tune {

// How long, with what, and which of the store's records count.
struct RunOptions {
  int trials = 512;    // total of the run: the same command goes on
  double seconds = 0;  // wall time limit; 0: none
  std::uint64_t seed = 0;
  bool fresh = false;  // do not learn from other runs' records
  int jobs = 2;
  space::Flavour flavour = space::Flavour::kDefault;
  CacheMode cache_mode = CacheMode::kWarm;
  // of the code generator behind the measurer: times compare only between equal ones
  int codegen_version = 0;
};

// How candidates are chosen.
struct SearchOptions {
  std::string name = "annealing";  // known_searchers()
  int batch = 64;                  // b of Algorithm 1
  // batches grow from this to `batch`, so that the model learns early
  int first_batch = 16;
  // the first trial is the analytic default; false where searches are compared
  bool default_first = true;
  // spreads of the scores that a trial of twice the usual cost has to promise more; 0: none
  double thrift = 0.25;
  search::Options exploration;
};

// What learns, and from what it begins.
struct ModelOptions {
  std::string name = "xgb-rank";  // known_models()
  // of xgb-ensemble: mean, ei (expected improvement), ucb (upper confidence bound)
  std::string acquisition = "mean";
  // configuration, context, relation, blocks; treegru models see trees instead (features_of)
  std::string features = "context";
  // a learned model begins from the analytic one, which fades as trials come in
  bool prior = true;
  // f_global of section 4, under the learned model: chooses the first batch, together with the
  // analytic one if `prior`.
  std::shared_ptr<const model::CostModel> global;
  // trials that it is worth: it fades as they come in; infinity: never, as in the paper
  double global_trials = 16;
  // where no `global` is given, one may be trained from other workloads' records
  bool transfer = true;
};

// The interleaved race at the end.
struct FinalRaceOptions {
  // and one more for 100 trials, up to four times as many
  int finalists = 6;
  // of the run's time: so long may the race take, but a second at least
  double share = 0.1;
  // and no longer than this where the machine is quiet; 0: no race
  double seconds = 3;
};

struct Options {
  RunOptions run;
  SearchOptions search;
  ModelOptions model;
  FinalRaceOptions race;
};

// Whether a run can begin with these.
Status check(const Options& options);

}  // namespace lathe::tune
