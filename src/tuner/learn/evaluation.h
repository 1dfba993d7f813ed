// Tells how well models predict what they were not trained on: held-out configurations of a
// workload, or held-out workloads.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tuner/learn/history.h"
#include "tuner/model/metrics.h"
#include "tuner/model/model.h"

namespace lathe::learn {

// Makes an untrained model over a global one, which may be null.
using ModelMaker =
    std::function<std::unique_ptr<model::CostModel>(std::shared_ptr<const model::CostModel>)>;

// Two times closer than this are not judged.
inline constexpr double kJudgedApart = 0.05;

struct EvaluationOptions {
  // This many random rows of the judged group teach the local model, but three quarters of the
  // group at most; the others are judged.
  int train_rows = 512;
  // Shapes (see shape_of() in history.h) that are held out; a global model learns from the others.
  // Empty: each group is judged by itself.
  std::vector<std::string> held_out;
  // Holds out each shape in turn.
  bool in_turn = false;
  // The global model learns from none that is related to what is held out in one of these ways.
  std::vector<Relation> unrelated;
  // Makes the untrained global model; null: as the local one.
  std::function<std::unique_ptr<model::CostModel>()> make_global;
  // A global model from a file, in place of one that is trained here.
  std::shared_ptr<const model::CostModel> global;
  std::uint64_t seed = 0;
};

struct Judged {
  Conditions group;
  int trained_on = 0, judged_on = 0;   // rows of the group
  std::int64_t global_trained_on = 0;  // rows of other groups
  model::Quality quality;
};

// Returns one entry for each group with rows that can be told apart. The error tells what is
// missing.
Result<std::vector<Judged>> evaluate(const History& history, const ModelMaker& make,
                                     const EvaluationOptions& options);

// The mean over groups; each group counts once.
model::Quality mean_of(const std::vector<Judged>& judged);

}  // namespace lathe::learn
