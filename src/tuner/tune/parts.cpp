// Searchers and models by name.
#include "tuner/tune/tune.h"

namespace lathe::tune {

Result<SearcherMaker> searcher_named(const std::string& name, const search::Options& options) {
  if (name == "annealing")
    return [options](const search::Domain& domain, search::Scorer& scorer, std::uint64_t seed) {
      return search::make_annealing(domain, scorer, options, seed);
    };
  if (name == "random")
    return [](const search::Domain& domain, search::Scorer&, std::uint64_t seed) { return search::make_random(domain, seed); };
  if (name == "genetic")
    return [](const search::Domain& domain, search::Scorer&, std::uint64_t seed) { return search::make_genetic(domain, seed); };
  return fail(ErrorKind::kInvalidArgument, "unknown search \"{}\"; known are annealing, genetic and random", name);
}

Result<std::unique_ptr<model::CostModel>> model_named(const std::string& name, std::uint64_t seed, int jobs) {
  if (name == "none") return nullptr;
  model::XgboostOptions options;
  options.seed = seed;
  options.threads = jobs;
  if (name == "xgb-rank") options.objective = model::Objective::kRank;
  else if (name == "xgb-reg") options.objective = model::Objective::kRegression;
  else return fail(ErrorKind::kInvalidArgument, "unknown model \"{}\"; known are xgb-rank, xgb-reg and none", name);
  return model::make_xgboost(options);
}

}  // namespace lathe::tune
