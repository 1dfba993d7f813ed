// Searchers and models by name: the lists that the command line, its help and its messages follow.
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "base/known_names.h"
#include "tuner/feature/feature.h"
#include "tuner/treegru/trainer.h"
#include "tuner/tune/tune.h"

namespace lathe::tune {
namespace {

// features of models that read nothing else, and not to be chosen for others
constexpr const char* kTrees = "tree";

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<search::Searcher> make_random(const space::Domain& domain, search::Scorer&,
                                              const search::Options&, std::uint64_t seed) {
  return search::make_random(domain, seed);
}
std::unique_ptr<search::Searcher> make_genetic(const space::Domain& domain, search::Scorer&,
                                               const search::Options&, std::uint64_t seed) {
  return search::make_genetic(domain, seed);
}

struct NamedSearcher {
  const char* name;
  std::unique_ptr<search::Searcher> (*make)(const space::Domain&, search::Scorer&,
                                            const search::Options&, std::uint64_t seed);
};
constexpr NamedSearcher kSearchers[] = {
    {"annealing", search::make_annealing}, {"genetic", make_genetic}, {"random", make_random}};

model::XgboostOptions xgboost_options(const Options& options, model::Objective objective) {
  const auto kind = feature::kind_named(options.model.features);
  return {.objective = objective,
          .threads = options.run.jobs,
          .seed = options.run.seed,
          .block_row = kind ? feature::block_row_of(*kind) : feature::BlockRow{},
          .global = options.model.global};
}
std::unique_ptr<model::CostModel> make_rank(const Options& options) {
  return model::make_xgboost(xgboost_options(options, model::Objective::kRank));
}
std::unique_ptr<model::CostModel> make_over_cycles(const Options& options) {
  auto own = xgboost_options(options, model::Objective::kRank);
  own.over_cycles = true;
  return model::make_xgboost(own);
}
std::unique_ptr<model::CostModel> make_regression(const Options& options) {
  return model::make_xgboost(xgboost_options(options, model::Objective::kRegression));
}

struct NamedAcquisition {
  const char* name;
  model::Acquisition acquisition;
};
constexpr NamedAcquisition kAcquisitions[] = {{"mean", model::Acquisition::kMean},
                                              {"ei", model::Acquisition::kExpectedImprovement},
                                              {"ucb", model::Acquisition::kUpperConfidence}};
constexpr const char* kEnsemble = "xgb-ensemble";

std::unique_ptr<model::CostModel> make_ensemble(const Options& options) {
  model::BootstrapOptions bootstrap{.member =
                                        xgboost_options(options, model::Objective::kRegression)};
  for (const auto& named : kAcquisitions)
    if (options.model.acquisition == named.name) bootstrap.acquisition = named.acquisition;
  return model::make_bootstrap(bootstrap);
}

Status check_acquisition(const Options& options) {
  const auto known = known_acquisitions();
  if (std::ranges::find(known, options.model.acquisition) == known.end())
    return fail(ErrorKind::kInvalidArgument, "unknown acquisition \"{}\"; known are {}",
                options.model.acquisition, known_names(known, options.model.acquisition));
  if (options.model.name != kEnsemble && options.model.acquisition != ModelOptions{}.acquisition)
    return fail(ErrorKind::kInvalidArgument,
                "acquisition {} needs a model that knows how unsure it is, {}, not {}",
                options.model.acquisition, kEnsemble, options.model.name);
  return {};
}

template <model::Objective kObjective, treegru::Variant kVariant>
std::unique_ptr<model::CostModel> make_treegru(const Options& options) {
  return model::make_treegru({.objective = kObjective,
                              .shape = {.variant = kVariant},
                              .threads = options.run.jobs,
                              .seed = options.run.seed,
                              .global = options.model.global});
}

struct NamedModel {
  const char* name;
  std::unique_ptr<model::CostModel> (*make)(const Options& options);  // null: it does not learn
  model::Objective objective = model::Objective::kRank;
  bool reads_trees = false;
};
constexpr auto kRank = model::Objective::kRank, kRegression = model::Objective::kRegression;
constexpr auto kContext = treegru::Variant::kContext, kVanilla = treegru::Variant::kVanilla;
constexpr NamedModel kModels[] = {
    {"xgb-rank", make_rank, kRank},
    {"xgb-reg", make_regression, kRegression},
    {kEnsemble, make_ensemble, kRegression},
    {"treegru-rank", make_treegru<kRank, kContext>, kRank, true},
    {"treegru-reg", make_treegru<kRegression, kContext>, kRegression, true},
    {"treegru-vanilla-rank", make_treegru<kRank, kVanilla>, kRank, true},
    {"treegru-vanilla-reg", make_treegru<kRegression, kVanilla>, kRegression, true},
    {"analytic", nullptr},
    {"none", nullptr}};

// Null if nothing has that name.
const NamedModel* find_model(const std::string& name) {
  const auto found =
      std::ranges::find_if(kModels, [&](const NamedModel& model) { return name == model.name; });
  return found == std::end(kModels) ? nullptr : &*found;
}

Status check_tree_model(const Options& options) {
  if (options.model.features != ModelOptions{}.features && options.model.features != kTrees)
    return fail(ErrorKind::kInvalidArgument,
                "{} sees programs as trees, not as {} features; leave the choice of features out",
                options.model.name, options.model.features);
  return treegru::check_trainer();
}

}  // namespace

std::vector<std::string> known_searchers() { return names_of(kSearchers); }
std::vector<std::string> known_models() { return names_of(kModels); }
std::vector<std::string> known_acquisitions() { return names_of(kAcquisitions); }
std::vector<std::string> known_features() {
  std::vector<std::string> kinds = feature::known_kinds();
  std::erase(kinds, kTrees);
  return kinds;
}

Result<SearcherMaker> searcher_named(const std::string& name, const search::Options& options) {
  for (const auto& searcher : kSearchers)
    if (name == searcher.name)
      return [options, make = searcher.make](const space::Domain& domain, search::Scorer& scorer,
                                             std::uint64_t seed) {
        return make(domain, scorer, options, seed);
      };
  return fail(ErrorKind::kInvalidArgument, "unknown search \"{}\"; known are {}", name,
              known_names(known_searchers(), name));
}

Result<SearcherMaker> searcher_of(const Options& options) {
  search::Options exploration = options.search.exploration;
  exploration.jobs = options.run.jobs;
  return searcher_named(options.search.name, exploration);
}

bool begins_from_cycles(const Options& options, bool tells_cycles) {
  const NamedModel* model = find_model(options.model.name);
  return tells_cycles && options.model.prior && model != nullptr && model->make == make_rank;
}

Result<std::unique_ptr<model::CostModel>> model_of(const Options& options, bool tells_cycles) {
  LATHE_TRY_STATUS(check_acquisition(options));
  const NamedModel* model = find_model(options.model.name);
  if (model == nullptr)
    return fail(ErrorKind::kInvalidArgument, "unknown model \"{}\"; known are {}",
                options.model.name, known_names(known_models(), options.model.name));
  if (model->reads_trees) LATHE_TRY_STATUS(check_tree_model(options));
  else if (options.model.features == kTrees)
    return fail(ErrorKind::kInvalidArgument,
                "{} does not read trees; choose other features or a treegru model",
                options.model.name);
  if (model->make == nullptr) return nullptr;
  const auto make = begins_from_cycles(options, tells_cycles) ? make_over_cycles : model->make;
  if (options.model.global == nullptr || std::isinf(options.model.global_trials))
    return make(options);
  return model::make_fading(options.model.global, options.model.global_trials,
                            [&](std::shared_ptr<const model::CostModel> global) {
                              Options over = options;
                              over.model.global = std::move(global);
                              return make(over);
                            });
}

bool learns_from_trees(const Options& options) {
  const NamedModel* model = find_model(options.model.name);
  return model != nullptr && model->reads_trees;
}

std::string features_of(const Options& options) {
  return learns_from_trees(options) ? kTrees : options.model.features;
}

std::optional<model::Objective> objective_of(const Options& options) {
  const NamedModel* model = find_model(options.model.name);
  if (model == nullptr || model->make == nullptr) return std::nullopt;
  return model->objective;
}

}  // namespace lathe::tune
