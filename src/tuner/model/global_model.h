// f_global of f = f_global + f_local (paper, section 4): a model that was trained on other
// workloads, with what it was trained on, as one file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/model/model.h"
#include "tuner/model/target_class.h"

namespace lathe::model {

struct GlobalModel {
  Objective objective = Objective::kRank;
  // "context", "relation", "tree", "blocks": features that mean the same in every space.
  std::string features;
  TargetClass target_class;
  std::vector<std::string> workloads;  // canonical keys
  std::int64_t records = 0;
  std::shared_ptr<const CostModel> model;  // trained
};

std::string_view name_of(Objective objective);  // "rank", "regression"

// Makes an untrained model for a global model of these features: for trees, TreeGRU in its context
// form (loop variables have a meaning in their own program only); else XGBoost, which begins from
// what context features of cards tell of cycles where it ranks.
struct GlobalOptions {
  std::string features = "context";
  Objective objective = Objective::kRank;
  TargetClass target_class;
  int threads = 1;
  std::uint64_t seed = 0;
};
std::unique_ptr<CostModel> make_global(const GlobalOptions& options);
// Whether rows of these features are such that feature::tells_cycles.
bool tells_cycles(const std::string& features, const TargetClass& target_class);

Result<std::string> save(const GlobalModel& global);
// The error tells whether the bytes are no global model, cut short, damaged, or made for another
// version of the features.
Result<GlobalModel> load_global(std::string_view bytes);

// Checks that it can stand under a local model with these features, objective and target; the error
// tells what differs and what to do.
Status check_fit(const GlobalModel& global, const std::string& features, Objective objective,
                 const TargetClass& target_class);

}  // namespace lathe::model
