// Global models: trained from records, written and read as files, judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "tuner/learn/evaluation.h"
#include "tuner/learn/global.h"
#include "tuner/tune/tune.h"

namespace lathe::api {

// Which records, and which model.
struct LearnRequest {
  std::vector<std::string> databases;
  std::string target;                // empty: that of the records, which must be of one class
  std::vector<std::string> without;  // workloads as on the command line
  tune::Options options;             // model, features, acquisition, seed, jobs
};

struct Trained {
  model::GlobalModel model;
  std::int64_t skipped = 0;  // records that do not replay
  std::int64_t copies = 0;   // records that another database has too
};
// Writes `file` whole or not at all.
Result<Trained> train_global_model(const LearnRequest& request, const std::string& file);

struct JudgeRequest {
  LearnRequest learn;
  std::vector<std::string> held_out;  // workloads, or "each": every one in turn
  // empty: a global model is trained where workloads are held out
  std::string model_file;
  std::optional<int> train_rows;  // default: 512 where configurations are held out, else 0
};
struct Judgement {
  std::vector<learn::Judged> judged;
  // whether the global model's file was trained on that workload
  std::vector<bool> seen;
  std::int64_t skipped = 0, copies = 0;
};
Result<Judgement> judge_model(const JudgeRequest& request);

// What a run's model began from.
struct Origin {
  std::int64_t records = 0;  // of other workloads; 0: nothing
  int workloads = 0;
  // they were not the store's: the model came with Lathe
  bool shipped = false;
};
// Sets options.model.global: the file's model if one is named, else what the store teaches, else
// the one that came with Lathe for this class of targets, or none. The store may be null.
Result<Origin> begin_from_others(const std::string& file, const std::string& workload,
                                 const Target& target, store::Store* store, tune::Options& options);

}  // namespace lathe::api
