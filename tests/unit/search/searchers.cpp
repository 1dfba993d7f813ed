// What every searcher promises: valid, distinct, unmeasured configurations, exhaustion,
// determinism.
#include <functional>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "unit/search/synthetic.h"

namespace lathe::search {
namespace {

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Searcher>(const space::Domain&, Scorer&, std::uint64_t)> make;
};

const Kind kKinds[] = {
    {"random",
     [](const space::Domain& d, Scorer&, std::uint64_t seed) { return make_random(d, seed); }},
    {"genetic",
     [](const space::Domain& d, Scorer&, std::uint64_t seed) { return make_genetic(d, seed); }},
    {"annealing",
     [](const space::Domain& d, Scorer& s, std::uint64_t seed) {
       return make_annealing(d, s, Options{.steps = 60}, seed);
     }},
};

std::vector<Measured> measure(const std::vector<space::Config>& batch) {
  std::vector<Measured> out;
  for (const auto& config : batch) out.push_back({config, structured_seconds(config)});
  return out;
}

class Searchers : public testing::TestWithParam<int> {
 protected:
  const Kind& kind() const { return kKinds[GetParam()]; }
  Oracle oracle_;
};

TEST_P(Searchers, ProposesValidConfigurationsNeverTwice) {
  const Synthetic domain({8, 8, 8, 8, 8, 3}, 20);
  auto searcher = kind().make(domain, oracle_, 1);
  std::set<space::Config> seen;
  for (int round = 0; round < 10; ++round) {
    const auto batch = searcher->ask(37);
    ASSERT_EQ(batch.size(), 37U);
    for (const auto& config : batch) {
      EXPECT_TRUE(domain.valid(config));
      EXPECT_TRUE(seen.insert(config).second) << "proposed twice";
    }
    searcher->tell(measure(batch));
  }
}

// The last knob has no effect, and the first two only through their sum, which forms do not show.
class Named final : public space::Domain {
 public:
  int knobs() const override { return all_.knobs(); }
  int values(int knob) const override { return all_.values(knob); }
  bool valid(const space::Config& config) const override { return all_.valid(config); }
  space::Config canonical(const space::Config& config) const override {
    return {config[0], config[1], config[2], 0};
  }
  std::uint64_t program_number(const space::Config& config) const override {
    return static_cast<std::uint64_t>((config[0] + config[1]) * 100 + config[2]);
  }
  space::Config random(Rng& rng) const override { return canonical(all_.random(rng)); }
  space::Config neighbour(const space::Config& config, Rng& rng) const override {
    return canonical(all_.neighbour(config, rng));
  }

 private:
  Synthetic all_{{5, 5, 4, 6}};
};

TEST_P(Searchers, AsksForAProgramOnceWhateverItsName) {
  const Named domain;
  auto searcher = kind().make(domain, oracle_, 6);
  std::set<std::uint64_t> programs;
  for (std::vector<space::Config> batch; !(batch = searcher->ask(7)).empty();) {
    for (const auto& config : batch) {
      EXPECT_EQ(domain.canonical(config), config);
      EXPECT_TRUE(programs.insert(domain.program_number(config)).second)
          << "the program was proposed before";
    }
    searcher->tell(measure(batch));
  }
  EXPECT_EQ(programs.size(), 9U * 4U);  // every one of them
}

TEST_P(Searchers, AsksAgainWithoutTellNeverRepeats) {
  const Synthetic domain({5, 7, 11});
  auto searcher = kind().make(domain, oracle_, 3);
  std::set<space::Config> seen;
  for (int round = 0; round < 5; ++round)
    for (const auto& config : searcher->ask(20)) EXPECT_TRUE(seen.insert(config).second);
  EXPECT_EQ(seen.size(), 100U);
}

TEST_P(Searchers, ExhaustsATinySpaceAndStops) {
  const Synthetic domain({3, 1, 4, 2}, 4);
  auto searcher = kind().make(domain, oracle_, 7);
  std::set<space::Config> seen;
  for (int round = 0; round < 20; ++round) {
    const auto batch = searcher->ask(5);
    for (const auto& config : batch) {
      EXPECT_TRUE(domain.valid(config));
      EXPECT_TRUE(seen.insert(config).second);
    }
    searcher->tell(measure(batch));
  }
  EXPECT_EQ(static_cast<int>(seen.size()), domain.count_valid());
  EXPECT_TRUE(searcher->ask(5).empty());
}

TEST_P(Searchers, SpaceOfOne) {
  const Synthetic domain({1, 1, 1});
  auto searcher = kind().make(domain, oracle_, 7);
  EXPECT_EQ(searcher->ask(64).size(), 1U);
  EXPECT_TRUE(searcher->ask(1).empty());
}

TEST_P(Searchers, LargeSpaceWithFewValidConfigurationsEnds) {
  // 32^4 configurations of which 70 are valid: too many to list, too few to draw.
  class Corner final : public space::Domain {
   public:
    int knobs() const override { return 4; }
    int values(int) const override { return 32; }
    bool valid(const space::Config& c) const override { return c[0] + c[1] + c[2] + c[3] <= 4; }
    space::Config random(Rng& rng) const override {
      space::Config c(4, 0);
      for (int i = 0; i < 3; ++i) c = neighbour(c, rng);
      return c;
    }
    space::Config neighbour(const space::Config& c, Rng& rng) const override {
      for (;;) {
        space::Config other = c;
        other[rng.below(4)] = static_cast<std::uint16_t>(rng.below(5));
        if (other != c && valid(other)) return other;
      }
    }
  } domain;
  auto searcher = kind().make(domain, oracle_, 5);
  std::set<space::Config> seen;
  for (int round = 0; round < 30; ++round) {
    const auto batch = searcher->ask(16);
    for (const auto& config : batch) EXPECT_TRUE(seen.insert(config).second);
    searcher->tell(measure(batch));
  }
  EXPECT_EQ(seen.size(), 70U);
}

TEST_P(Searchers, ToldAndExcludedAreNeverAsked) {
  const Synthetic domain({4, 4, 2});
  auto searcher = kind().make(domain, oracle_, 11);
  std::vector<Measured> told;
  std::vector<space::Config> excluded;
  space::Config config(3, 0);
  for (config[0] = 0; config[0] < 4; ++config[0])
    for (config[1] = 0; config[1] < 2; ++config[1]) told.push_back({config, 1e-3});
  for (config[0] = 0, config[1] = 3; config[0] < 4; ++config[0]) excluded.push_back(config);
  searcher->tell(told);
  searcher->exclude(excluded);
  std::set<space::Config> forbidden(excluded.begin(), excluded.end());
  for (const auto& m : told) forbidden.insert(m.config);
  std::set<space::Config> seen;
  for (int round = 0; round < 8; ++round)
    for (const auto& c : searcher->ask(5)) {
      EXPECT_FALSE(forbidden.contains(c));
      seen.insert(c);
    }
  EXPECT_EQ(seen.size(), 32U - 12U);
}

TEST_P(Searchers, SameSeedSameProposals) {
  const Synthetic domain({16, 16, 16, 4, 4, 2}, 40);
  const auto run = [&](std::uint64_t seed) {
    Oracle oracle;
    auto searcher = kind().make(domain, oracle, seed);
    std::vector<space::Config> all;
    for (int round = 0; round < 5; ++round) {
      const auto batch = searcher->ask(33);
      all.insert(all.end(), batch.begin(), batch.end());
      searcher->tell(measure(batch));
    }
    return all;
  };
  EXPECT_EQ(run(42), run(42));
  EXPECT_NE(run(42), run(43));
}

TEST_P(Searchers, FailuresAreTakenAsResults) {
  const Synthetic domain({9, 9, 9});
  auto searcher = kind().make(domain, oracle_, 2);
  for (int round = 0; round < 4; ++round) {
    auto results = measure(searcher->ask(50));
    for (auto& result : results) result.seconds = std::numeric_limits<double>::infinity();
    searcher->tell(results);
  }
  EXPECT_EQ(searcher->ask(50).size(), 50U);
}

INSTANTIATE_TEST_SUITE_P(All, Searchers, testing::Values(0, 1, 2),
                         [](const auto& info) { return std::string(kKinds[info.param].name); });

}  // namespace
}  // namespace lathe::search
