// Searches on two spaces that were measured: what is better in principle is better there.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/statistics.h"
#include "research/recorded/difficulty.h"
#include "research/recorded/replay.h"
#include "tuner/tune/tune.h"
#include "unit/recorded/made_up.h"

namespace lathe::recorded {
namespace {

class SearchTest : public testing::TestWithParam<const char*> {
 protected:
  SearchTest()
      : recording_(*load(std::string(LATHE_RECORDINGS) + "/" + GetParam() + ".json.zst")) {}

  // Trials until one is within 5 % of the best; all of the space where none is.
  static double trials_to_95(const Recording& recording, const std::string& search,
                             const std::string& model, std::uint64_t seed) {
    tune::Options options;
    options.run.trials = static_cast<int>(recording.configs().size());
    options.search.batch = 16;
    options.search.first_batch = 8;
    options.search.name = search;
    options.model.name = model;
    options.model.prior = options.search.default_first = false;  // the model alone
    options.run.seed = seed;
    options.run.jobs = 1;
    options.race.seconds = 0;
    options.search.exploration.chains = 32;
    options.search.exploration.steps = 60;
    const auto store = std::move(*store::open_in_memory());
    const auto measurer = make_replay(recording);
    // Asked before each measurement.
    const auto found = [&] {
      const auto best = store->best({});
      return best && *best && recording.best_seconds() >= 0.95 * (**best).seconds;
    };
    const auto summary = tune::tune(*recording.space, *measurer, *store, recording.target,
                                    replay_options(recording, options), {}, found);
    EXPECT_TRUE(summary) << summary.error().text();
    return summary->trials;
  }
  static std::vector<double> seeds(const Recording& recording, const std::string& search,
                                   const std::string& model, int count) {
    std::vector<double> trials;
    for (int seed = 0; seed < count; ++seed)
      trials.push_back(trials_to_95(recording, search, model, static_cast<std::uint64_t>(seed)));
    return trials;
  }

  const Recording recording_;
};

TEST_P(SearchTest, RandomSearchNeedsWhatItMust) {
  const double median = quantile(seeds(recording_, "random", "none", 41), 0.5);
  const double expected = difficulty_of(recording_).random_trials_95;
  EXPECT_GT(median, 0.5 * expected);
  EXPECT_LT(median, 1.6 * expected + 1);
}

TEST_P(SearchTest, AModelNeedsFewerTrialsThanChance) {
  // Of the convolution's few programs chance finds a good one early, too.
  EXPECT_LT(quantile(seeds(recording_, "annealing", "xgb-rank", 15), 0.5),
            0.8 * quantile(seeds(recording_, "random", "none", 41), 0.5));
}

TEST_P(SearchTest, WithNothingToLearnAModelIsNoBetterThanChance) {
  std::vector<double> guided, random;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Recording shuffled = recording_.shuffled(seed);
    guided.push_back(trials_to_95(shuffled, "annealing", "xgb-rank", seed));
    random.push_back(trials_to_95(shuffled, "random", "none", seed));
  }
  EXPECT_GT(mann_whitney(guided, random), 0.05);
}

INSTANTIATE_TEST_SUITE_P(Measured, SearchTest, testing::Values("matmul", "conv"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lathe::recorded
