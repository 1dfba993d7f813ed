// Training of global models from records.
#pragma once

#include <optional>
#include <string>

#include "base/target.h"
#include "tuner/learn/history.h"
#include "tuner/model/global_model.h"

namespace lathe::learn {

// What a global model carries over between: instruction set and width of vectors. `target` is
// resolved.
std::string target_class(const Target& target);

struct GlobalOptions {
  model::GlobalOptions model;
  std::string target_class;
};

// The error says what is missing: two records that worked of one workload are the least.
Result<model::GlobalModel> train_global(const History& history, const GlobalOptions& options);

// Four batches: a model of fewer records ranks little better than the analytic one does (not tuned
// further).
inline constexpr int kLeastRecords = 256;

// What tune uses where nobody named a model: trained on what the store has of other workloads of
// the same operator on this target and CPU (a model of convolutions led matrix products astray: 53
// for 98 GFLOP/s after 32 trials). None where that is less than kLeastRecords. Takes a fraction of
// a second (TreeGRU: seconds): it reads and trains on a few thousand records at most.
Result<std::optional<model::GlobalModel>> global_of_store(
    store::Store& store, const std::string& workload, const std::string& target,
    const std::string& cache_mode, const std::string& cpu, const GlobalOptions& options);

}  // namespace lathe::learn
