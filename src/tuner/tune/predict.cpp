#include <algorithm>

#include "tuner/tune/model_scorer.h"

namespace lathe::tune {

Result<space::Config> predict(const Subject& subject, const Options& options) {
  const auto make_searcher = LATHE_TRY(searcher_of(options));
  const auto model = LATHE_TRY(model_of(options));
  ModelScorer scorer(subject, model.get(), prior_of(subject, options), options.run.jobs);
  LATHE_TRY_STATUS(scorer.status());
  std::vector<space::Config> candidates = subject.starts();
  if (!scorer.ready()) return candidates[0];
  for (auto& config :
       make_searcher(subject.domain(), scorer, options.run.seed)->ask(options.search.batch))
    candidates.push_back(std::move(config));
  std::vector<double> scores(candidates.size());
  scorer.score(candidates, scores);
  LATHE_TRY_STATUS(scorer.status());
  return candidates[static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin())];
}

}  // namespace lathe::tune
