#include <algorithm>

#include "tuner/tune/explorer.h"

namespace lathe::tune {

// Algorithm 1 with nothing measured: the starts join the first batch.
Result<space::Config> predict(const Subject& subject, const Options& options) {
  const auto make_searcher = LATHE_TRY(searcher_of(options));
  const auto model = LATHE_TRY(model_of(options, subject.tells_cycles()));
  Known nothing(subject, model != nullptr, TrialCost(false, options.run.jobs));
  Explorer explorer(subject, model.get(), nothing, options, make_searcher);
  std::vector<space::Config> candidates = subject.starts();
  for (auto& config : LATHE_TRY(explorer.ask(options.search.batch)))
    candidates.push_back(std::move(config));
  const std::vector<double> scores = LATHE_TRY(explorer.scores(candidates));
  return candidates[static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin())];
}

}  // namespace lathe::tune
