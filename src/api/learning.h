// Global models: trained on records, written and read as files, judged.
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

// Which records to learn from, and which model.
struct LearnRequest {
  std::vector<std::string> databases;
  std::string target;                // empty: that of the records, which must be of one class
  std::vector<std::string> without;  // workloads as the command line names them
  tune::Options options;             // model, features, acquisition, seed, jobs
};

struct Trained {
  model::GlobalModel model;
  std::int64_t skipped = 0;  // records whose trace does not apply any more
  std::int64_t copies = 0;   // records that another database has, too
};
// Writes `file` as a whole or not at all.
Result<Trained> train_global_model(const LearnRequest& request, const std::string& file);

struct JudgeRequest {
  LearnRequest learn;
  std::vector<std::string> held_out;  // workloads; "each" holds out every one in turn
  // How what teaches must not be related to what is held out.
  std::vector<learn::Relation> unrelated;
  // Empty: where workloads are held out, a global model is trained.
  std::string model_file;
  std::optional<int> train_rows;  // default: 512 where configurations are held out, else 0
};
struct Judgement {
  std::vector<learn::Judged> judged;
  // Whether the global model of the file was trained on that workload.
  std::vector<bool> seen;
  std::int64_t skipped = 0, copies = 0;
};
Result<Judgement> judge_model(const JudgeRequest& request);

// What the model of a run began from.
struct Origin {
  std::int64_t records = 0;  // of other workloads; 0: nothing
  int workloads = 0;
  // True if the records were not the store's: the model came with Lathe.
  bool shipped = false;
};
// Sets options.model.global: the file's model if a file is named, else what the store teaches, else
// the model that came with Lathe for this class of targets, if there is one. The store may be null.
Result<Origin> begin_from_others(const std::string& file, const std::string& workload,
                                 const Target& target, store::Store* store, tune::Options& options);

}  // namespace lathe::api
