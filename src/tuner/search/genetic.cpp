// Genetic search, a baseline: tournament selection among the fastest, uniform crossover with repair
// of invalid children, mutation along neighbours.
#include <algorithm>

#include "tuner/search/search.h"
#include "tuner/search/unseen.h"

namespace lathe::search {
namespace {

constexpr std::size_t kPopulation = 64;
constexpr int kTournament = 3;
constexpr double kMutation = 0.1;  // the chance of each knob
// Each try adds one more mutation; then a random configuration takes the place.
constexpr int kTriesPerChild = 32;

class Genetic final : public Searcher {
 public:
  Genetic(const space::Domain& domain, std::uint64_t seed)
      : domain_(domain), unseen_(domain), rng_(seed) {}

  std::vector<space::Config> ask(int wanted) override {
    std::vector<space::Config> batch;
    // The first generation is random.
    while (static_cast<int>(batch.size()) < wanted && told_ >= kPopulation &&
           population_.size() >= 2) {
      auto child = breed();
      if (!child) break;
      batch.push_back(std::move(*child));
    }
    for (auto& config : unseen_.draw(wanted - static_cast<int>(batch.size()), rng_))
      batch.push_back(std::move(config));
    return batch;
  }

  void tell(std::span<const Measured> results) override {
    told_ += results.size();
    for (const auto& result : results) {
      unseen_.mark(result.config);
      population_.push_back(result);
    }
    std::ranges::stable_sort(population_, {}, &Measured::seconds);
    if (population_.size() > kPopulation) population_.resize(kPopulation);
  }

  void exclude(std::span<const space::Config> configs) override {
    for (const auto& config : configs) unseen_.mark(config);
  }

 private:
  const space::Config& parent() {
    std::size_t best = rng_.below(population_.size());
    for (int i = 1; i < kTournament; ++i)
      best = std::min<std::size_t>(best, rng_.below(population_.size()));
    return population_[best].config;  // they are sorted: the smallest index is the fastest
  }

  std::optional<space::Config> breed() {
    for (int attempt = 0; attempt < kTriesPerChild; ++attempt) {
      const space::Config& mother = parent();
      space::Config child = crossover(mother, parent());
      for (std::size_t knob = 0; knob < child.size(); ++knob)
        if (rng_.chance(kMutation)) child = domain_.neighbour(child, rng_);
      for (int i = 0; i < attempt; ++i) child = domain_.neighbour(child, rng_);
      child = domain_.canonical(child);
      if (unseen_.mark(child)) return child;
    }
    return unseen_.draw(rng_);
  }

  // Takes each knob from either parent. An invalid child gets its mother's values back, knob by
  // knob in random order, until it is valid; in the end it equals its mother, who is.
  space::Config crossover(const space::Config& mother, const space::Config& father) {
    space::Config child = mother;
    std::vector<std::size_t> changed;
    for (std::size_t knob = 0; knob < child.size(); ++knob)
      if (rng_.chance(0.5) && mother[knob] != father[knob]) {
        child[knob] = father[knob];
        changed.push_back(knob);
      }
    while (!changed.empty() && !domain_.valid(child)) {
      const std::size_t i = rng_.below(changed.size());
      child[changed[i]] = mother[changed[i]];
      changed[i] = changed.back();
      changed.pop_back();
    }
    return child;
  }

  const space::Domain& domain_;
  Unseen unseen_;
  Rng rng_;
  std::size_t told_ = 0;
  std::vector<Measured> population_;  // fastest first
};

}  // namespace

std::unique_ptr<Searcher> make_genetic(const space::Domain& domain, std::uint64_t seed) {
  return std::make_unique<Genetic>(domain, seed);
}

}  // namespace lathe::search
