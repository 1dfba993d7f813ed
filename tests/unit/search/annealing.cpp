#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "unit/search/synthetic.h"

namespace lathe::search {
namespace {

const std::vector<int> kRadix(10, 16);

double best_of(const std::vector<space::Config>& batch) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& config : batch) best = std::min(best, structured_seconds(config));
  return best;
}

TEST(Annealing, BeatsRandomOnAStructuredLandscape) {
  const Synthetic domain(kRadix, 90);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Oracle oracle;
    const double annealed =
        best_of(make_annealing(domain, oracle, Options{.steps = 200}, seed)->ask(32));
    const double random = best_of(make_random(domain, seed)->ask(1000));
    EXPECT_LT(annealed, random * 0.6) << "seed " << seed;
  }
}

TEST(Annealing, GeneticBeatsRandomToo) {
  const Synthetic domain(kRadix, 90);
  auto genetic = make_genetic(domain, 4);
  auto random = make_random(domain, 4);
  double best_genetic = 1, best_random = 1;
  for (int round = 0; round < 16; ++round) {
    const auto batch = genetic->ask(64);
    best_genetic = std::min(best_genetic, best_of(batch));
    std::vector<Measured> results;
    for (const auto& config : batch) results.push_back({config, structured_seconds(config)});
    genetic->tell(results);
    best_random = std::min(best_random, best_of(random->ask(64)));
  }
  EXPECT_LT(best_genetic, best_random * 0.8);
}

TEST(Annealing, NegativeScoresChangeNothing) {
  // The predecessor dropped candidates whose score was negative; a rank objective has many.
  const Synthetic domain(kRadix);
  std::vector<std::vector<space::Config>> batches;
  for (const double shift : {0.0, -1024.0}) {
    Oracle oracle(shift);
    batches.push_back(make_annealing(domain, oracle, Options{.steps = 100}, 9)->ask(64));
    EXPECT_EQ(batches.back().size(), 64U);
  }
  EXPECT_NEAR(best_of(batches[0]), best_of(batches[1]), best_of(batches[0]) * 0.3);
}

TEST(Annealing, ChainsPersistAcrossModelUpdates) {
  // With few steps a round, later rounds are only better than the first if the chains go on where
  // they were.
  const Synthetic domain(kRadix);
  Oracle oracle;
  auto searcher = make_annealing(domain, oracle, Options{.steps = 15, .epsilon = 0, .elite = 0}, 1);
  const double first = best_of(searcher->ask(16));
  double last = first;
  for (int round = 0; round < 10; ++round) last = best_of(searcher->ask(16));
  EXPECT_LT(last, first);
}

TEST(Annealing, RandomUntilTheModelIsTrained) {
  const Synthetic domain(kRadix);
  Oracle oracle;
  oracle.trained = false;
  auto searcher = make_annealing(domain, oracle, {}, 1);
  EXPECT_EQ(searcher->ask(64).size(), 64U);
  EXPECT_EQ(oracle.calls, 0U);
  oracle.trained = true;
  EXPECT_EQ(searcher->ask(64).size(), 64U);
  EXPECT_GT(oracle.calls, 0U);
}

TEST(Annealing, ScoresChainsTogetherAndNothingTwiceARound) {
  const Synthetic domain(kRadix);
  Oracle oracle;
  make_annealing(domain, oracle, Options{.steps = 40, .patience = 1000}, 1)->ask(64);
  EXPECT_LE(oracle.calls, 42U);  // one call a step, one for the start
  EXPECT_LE(oracle.scored, 128U * 42U);
  EXPECT_GT(oracle.scored, 128U * 30U);
}

TEST(Annealing, StopsEarlyWhenTheTopSetStandsStill) {
  const Synthetic domain({2, 2, 2, 2});
  Oracle oracle;
  make_annealing(domain, oracle, Options{.steps = 500, .patience = 10}, 1)->ask(4);
  EXPECT_LE(oracle.scored, 16U);  // the whole space, each configuration once
}

TEST(Annealing, EpsilonSharesTheBatch) {
  // All random: as far from the optimum as random search.
  const Synthetic domain(kRadix);
  Oracle oracle;
  auto all_random = make_annealing(domain, oracle, Options{.steps = 100, .epsilon = 1}, 1);
  auto none_random = make_annealing(domain, oracle, Options{.steps = 100, .epsilon = 0}, 1);
  const auto mean = [](const std::vector<space::Config>& batch) {
    double sum = 0;
    for (const auto& config : batch) sum += structured_seconds(config);
    return sum / static_cast<double>(batch.size());
  };
  EXPECT_LT(mean(none_random->ask(64)) * 1.5, mean(all_random->ask(64)));
}

TEST(Annealing, ThreadsChangeNothing) {
  const Synthetic domain(kRadix, 90);
  std::vector<std::vector<space::Config>> batches;
  for (const int jobs : {1, 2, 3}) {
    Oracle oracle;
    auto searcher = make_annealing(domain, oracle, Options{.steps = 40, .jobs = jobs}, 7);
    searcher->ask(16);
    batches.push_back(searcher->ask(16));
  }
  EXPECT_EQ(batches[0], batches[1]);
  EXPECT_EQ(batches[0], batches[2]);
}

TEST(Annealing, ARoundEndsWhenToldTo) {
  const Synthetic domain(kRadix);
  Oracle oracle;
  auto searcher = make_annealing(domain, oracle, Options{.steps = 500, .patience = 1000}, 1);
  int asked = 0;
  searcher->stop_when([&] { return ++asked > 3; });
  EXPECT_EQ(searcher->ask(16).size(), 16U) << "of what it met";
  EXPECT_LE(oracle.calls, 5U);
}

TEST(Annealing, HopelessScoresDoNotStopIt) {
  class Blind final : public Scorer {
   public:
    bool ready() const override { return true; }
    void score(std::span<const space::Config> configs, std::span<double> scores) override {
      for (std::size_t i = 0; i < configs.size(); ++i)
        scores[i] = i % 3 == 0 ? std::numeric_limits<double>::quiet_NaN()
                               : -std::numeric_limits<double>::infinity();
    }
  } blind;
  const Synthetic domain(kRadix);
  EXPECT_EQ(make_annealing(domain, blind, Options{.steps = 30}, 1)->ask(64).size(), 64U);
}

}  // namespace
}  // namespace lathe::search
