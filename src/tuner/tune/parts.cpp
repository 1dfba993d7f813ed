// Searchers and models by name: the lists that the command line, its help and its messages follow.
#include <algorithm>

#include <fmt/ranges.h>

#include "tuner/tune/tune.h"

namespace lathe::tune {
namespace {

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<search::Searcher> make_random(const search::Domain& domain, search::Scorer&, const search::Options&,
                                              std::uint64_t seed) {
  return search::make_random(domain, seed);
}
std::unique_ptr<search::Searcher> make_genetic(const search::Domain& domain, search::Scorer&, const search::Options&,
                                               std::uint64_t seed) {
  return search::make_genetic(domain, seed);
}

struct NamedSearcher {
  const char* name;
  std::unique_ptr<search::Searcher> (*make)(const search::Domain&, search::Scorer&, const search::Options&, std::uint64_t seed);
};
constexpr NamedSearcher kSearchers[] = {
    {"annealing", search::make_annealing}, {"genetic", make_genetic}, {"random", make_random}};

model::XgboostOptions xgboost_options(const Options& options, model::Objective objective) {
  return {.objective = objective, .threads = options.jobs, .seed = options.seed, .global = options.global};
}
std::unique_ptr<model::CostModel> make_rank(const Options& options) {
  return model::make_xgboost(xgboost_options(options, model::Objective::kRank));
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
  model::BootstrapOptions bootstrap{.member = xgboost_options(options, model::Objective::kRegression)};
  for (const auto& named : kAcquisitions)
    if (options.acquisition == named.name) bootstrap.acquisition = named.acquisition;
  return model::make_bootstrap(bootstrap);
}

Status check_acquisition(const Options& options) {
  const auto known = known_acquisitions();
  if (std::ranges::find(known, options.acquisition) == known.end())
    return fail(ErrorKind::kInvalidArgument, "unknown acquisition \"{}\"; known are {}", options.acquisition,
                fmt::join(known, ", "));
  if (options.model != kEnsemble && options.acquisition != Options{}.acquisition)
    return fail(ErrorKind::kInvalidArgument, "acquisition {} needs a model that knows how unsure it is, {}, not {}",
                options.acquisition, kEnsemble, options.model);
  return {};
}

struct NamedModel {
  const char* name;
  std::unique_ptr<model::CostModel> (*make)(const Options& options);  // null: it does not learn
  model::Objective objective = model::Objective::kRank;
};
constexpr NamedModel kModels[] = {{"xgb-rank", make_rank, model::Objective::kRank},
                                  {"xgb-reg", make_regression, model::Objective::kRegression},
                                  {kEnsemble, make_ensemble, model::Objective::kRegression},
                                  {"analytic", nullptr},
                                  {"none", nullptr}};

}  // namespace

std::vector<std::string> known_searchers() { return names_of(kSearchers); }
std::vector<std::string> known_models() { return names_of(kModels); }
std::vector<std::string> known_acquisitions() { return names_of(kAcquisitions); }

Result<SearcherMaker> searcher_named(const std::string& name, const search::Options& options) {
  for (const auto& searcher : kSearchers)
    if (name == searcher.name)
      return [options, make = searcher.make](const search::Domain& domain, search::Scorer& scorer, std::uint64_t seed) {
        return make(domain, scorer, options, seed);
      };
  return fail(ErrorKind::kInvalidArgument, "unknown search \"{}\"; known are {}", name, fmt::join(known_searchers(), ", "));
}

Result<std::unique_ptr<model::CostModel>> model_of(const Options& options) {
  LATHE_TRY_STATUS(check_acquisition(options));
  for (const auto& model : kModels)
    if (options.model == model.name) return model.make == nullptr ? nullptr : model.make(options);
  return fail(ErrorKind::kInvalidArgument, "unknown model \"{}\"; known are {}", options.model,
              fmt::join(known_models(), ", "));
}

std::optional<model::Objective> objective_of(const Options& options) {
  for (const auto& model : kModels)
    if (options.model == model.name && model.make != nullptr) return model.objective;
  return std::nullopt;
}

std::string model_identity(const Options& options) {
  const Options usual;
  std::string name = options.model;
  if (options.features != usual.features) name += "/" + options.features;
  if (options.acquisition != usual.acquisition) name += "/" + options.acquisition;
  return name;
}

}  // namespace lathe::tune
