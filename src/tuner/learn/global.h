// Trains global models on records.
#pragma once

#include <optional>
#include <string>

#include "tuner/learn/history.h"
#include "tuner/model/global_model.h"

namespace lathe::learn {

// Needs at least two records of one workload that succeeded; the error tells what is missing.
Result<model::GlobalModel> train_global(const History& history,
                                        const model::GlobalOptions& options);

// Four batches. A model of fewer records ranks hardly better than the analytic one; the number was
// not tuned further.
inline constexpr int kLeastRecords = 256;

// Which workloads teach this one where nobody chooses: on a processor those of the same operator (a
// model of convolutions led matrix products astray: they reached 53 GFLOP/s in place of 98 after 32
// trials). On a card models begin from what a model of the card says, and all sums of products
// teach each other (bench/results/card_order.md).
Relation teaching_relation(const std::string& workload, const model::TargetClass& target_class);

// The model that tuning begins with where nobody named one. It is trained on what the store has of
// other workloads that teach this one, on this target and CPU. None if there are fewer
// than kLeastRecords. It takes a fraction of a second (TreeGRU: seconds), since it reads and trains
// on a few thousand records at most.
Result<std::optional<model::GlobalModel>> global_of_store(
    store::Store& store, const std::string& workload, const std::string& target,
    CacheMode cache_mode, const std::string& cpu, const model::GlobalOptions& options);

}  // namespace lathe::learn
