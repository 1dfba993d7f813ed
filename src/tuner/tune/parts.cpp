// Searchers and models by name: the lists that the command line, its help and its messages follow.
#include <fmt/ranges.h>

#include "tuner/tune/tune.h"

namespace lathe::tune {
namespace {

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

std::unique_ptr<model::CostModel> make_xgboost(model::Objective objective, std::uint64_t seed, int jobs) {
  model::XgboostOptions options;
  options.objective = objective;
  options.seed = seed;
  options.threads = jobs;
  return model::make_xgboost(options);
}

struct NamedModel {
  const char* name;
  std::unique_ptr<model::CostModel> (*make)(std::uint64_t seed, int jobs);  // null: it does not learn
};
constexpr NamedModel kModels[] = {
    {"xgb-rank", [](std::uint64_t seed, int jobs) { return make_xgboost(model::Objective::kRank, seed, jobs); }},
    {"xgb-reg", [](std::uint64_t seed, int jobs) { return make_xgboost(model::Objective::kRegression, seed, jobs); }},
    {"analytic", nullptr},
    {"none", nullptr}};

}  // namespace

std::vector<std::string> known_searchers() {
  std::vector<std::string> names;
  for (const auto& searcher : kSearchers) names.emplace_back(searcher.name);
  return names;
}

std::vector<std::string> known_models() {
  std::vector<std::string> names;
  for (const auto& model : kModels) names.emplace_back(model.name);
  return names;
}

Result<SearcherMaker> searcher_named(const std::string& name, const search::Options& options) {
  for (const auto& searcher : kSearchers)
    if (name == searcher.name)
      return [options, make = searcher.make](const search::Domain& domain, search::Scorer& scorer, std::uint64_t seed) {
        return make(domain, scorer, options, seed);
      };
  return fail(ErrorKind::kInvalidArgument, "unknown search \"{}\"; known are {}", name, fmt::join(known_searchers(), ", "));
}

Result<std::unique_ptr<model::CostModel>> model_named(const std::string& name, std::uint64_t seed, int jobs) {
  for (const auto& model : kModels)
    if (name == model.name) return model.make == nullptr ? nullptr : model.make(seed, jobs);
  return fail(ErrorKind::kInvalidArgument, "unknown model \"{}\"; known are {}", name, fmt::join(known_models(), ", "));
}

}  // namespace lathe::tune
