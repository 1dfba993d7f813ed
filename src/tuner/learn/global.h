// Trains global models on records.
#pragma once

#include <optional>
#include <string>

#include "tuner/learn/history.h"
#include "tuner/model/global_model.h"

namespace lathe::learn {

struct GlobalTraining {
  model::GlobalOptions model;
  model::TargetClass target_class;
};

// Needs at least two records of one workload that succeeded; the error tells what is missing.
Result<model::GlobalModel> train_global(const History& history, const GlobalTraining& options);

// Four batches. A model of fewer records ranks hardly better than the analytic one; the number was
// not tuned further.
inline constexpr int kLeastRecords = 256;

// The model that tuning begins with where nobody named one. It is trained on what the store has of
// other workloads of the same operator on this target and CPU (a model of convolutions led matrix
// products astray: they reached 53 GFLOP/s in place of 98 after 32 trials). None if there are fewer
// than kLeastRecords. It takes a fraction of a second (TreeGRU: seconds), since it reads and trains
// on a few thousand records at most.
Result<std::optional<model::GlobalModel>> global_of_store(
    store::Store& store, const std::string& workload, const std::string& target,
    CacheMode cache_mode, const std::string& cpu, const GlobalTraining& options);

}  // namespace lathe::learn
