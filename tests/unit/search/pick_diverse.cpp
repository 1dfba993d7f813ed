#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tuner/search/search.h"

namespace lathe::search {
namespace {

std::vector<space::Config> random_configs(int count, Rng& rng) {
  std::vector<space::Config> out;
  for (int i = 0; i < count; ++i) {
    space::Config config;
    for (int knob = 0; knob < 5; ++knob) config.push_back(static_cast<std::uint16_t>(rng.below(7)));
    out.push_back(config);
  }
  return out;
}

// The same choice made slowly: every gain computed anew for every pick.
std::vector<int> plain_greedy(const std::vector<space::Config>& candidates,
                              const std::vector<double>& scores, int count, double alpha) {
  const double n = static_cast<double>(scores.size());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / n;
  double variance = 0;
  for (const double s : scores) variance += (s - mean) * (s - mean) / n;
  std::set<std::pair<std::size_t, int>> covered;
  std::vector<int> picked;
  while (static_cast<int>(picked.size()) < count && picked.size() < candidates.size()) {
    int best = -1;
    double best_gain = 0;
    for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
      if (std::ranges::find(picked, i) != picked.end()) continue;
      int fresh = 0;
      for (std::size_t k = 0; k < candidates[i].size(); ++k)
        fresh += !covered.contains({k, candidates[i][k]});
      const double gain = (scores[i] - mean) / std::sqrt(variance) + alpha * fresh;
      if (best < 0 || gain > best_gain + 1e-12) best = i, best_gain = gain;
    }
    picked.push_back(best);
    for (std::size_t k = 0; k < candidates[best].size(); ++k)
      covered.insert({k, candidates[best][k]});
  }
  return picked;
}

TEST(PickDiverse, EqualsPlainGreedy) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const auto candidates = random_configs(60, rng);
    std::vector<double> scores;
    for (std::size_t i = 0; i < candidates.size(); ++i) scores.push_back(rng.normal() - 5);
    for (const double alpha : {0.0, 0.1, 0.5, 3.0})
      EXPECT_EQ(pick_diverse(candidates, scores, 20, alpha),
                plain_greedy(candidates, scores, 20, alpha))
          << "seed " << seed << " alpha " << alpha;
  }
}

TEST(PickDiverse, WithoutDiversityTakesTheBestScores) {
  Rng rng(1);
  const auto candidates = random_configs(30, rng);
  std::vector<double> scores(30);
  std::iota(scores.begin(), scores.end(), -100.0);
  EXPECT_EQ(pick_diverse(candidates, scores, 3, 0), (std::vector<int>{29, 28, 27}));
}

TEST(PickDiverse, ScoresCountAlsoWithDiversity) {
  // The same four values a knob everywhere: diversity says nothing after the first picks, scores
  // must.
  const std::vector<space::Config> candidates = {{0, 0}, {0, 0}, {0, 0}, {1, 1}};
  const std::vector<double> scores = {1, 5, 3, -40};
  const auto picked = pick_diverse(candidates, scores, 2, 0.01);
  EXPECT_EQ(picked, (std::vector<int>{1, 2}));
}

TEST(PickDiverse, DiversityCountsAlsoWithScores) {
  const std::vector<space::Config> candidates = {{0, 0}, {0, 0}, {1, 1}};
  const std::vector<double> scores = {5, 4.9, 4.8};
  EXPECT_EQ(pick_diverse(candidates, scores, 2, 5.0), (std::vector<int>{0, 2}));
}

TEST(PickDiverse, EqualScores) {
  const std::vector<space::Config> candidates = {{0}, {0}, {1}};
  const std::vector<double> scores = {-2, -2, -2};
  EXPECT_EQ(pick_diverse(candidates, scores, 2, 1.0), (std::vector<int>{0, 2}));
}

TEST(PickDiverse, HopelessScoresComeLast) {
  const std::vector<space::Config> candidates = {{0}, {1}, {2}, {3}};
  const std::vector<double> scores = {NAN, -INFINITY, 1, 2};
  const auto picked = pick_diverse(candidates, scores, 2, 0.5);
  EXPECT_EQ(picked, (std::vector<int>{3, 2}));
}

TEST(PickDiverse, FewerCandidatesThanWanted) {
  EXPECT_TRUE(pick_diverse({}, {}, 4, 1).empty());
  const std::vector<space::Config> one = {{0}};
  EXPECT_EQ(pick_diverse(one, std::vector<double>{1}, 4, 1).size(), 1U);
  EXPECT_TRUE(pick_diverse(one, std::vector<double>{1}, 0, 1).empty());
}

}  // namespace
}  // namespace lathe::search
