// Parallel simulated annealing over the cost model's scores (paper, section 3.3, Algorithm 1 and
// appendix): 128 chains that persist across updates of the model. They keep the best lambda * batch
// unmeasured configurations that they met. Equation 3 picks a diverse batch of these, and a share
// of random configurations joins it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/in_parts.h"
#include "tuner/search/scale.h"
#include "tuner/search/search.h"
#include "tuner/search/unseen.h"

namespace lathe::search {
namespace {

// Keeps the best `capacity` of all candidates that are offered. Among equal scores the earlier one
// stays.
class TopSet {
 public:
  explicit TopSet(std::size_t capacity) : capacity_(capacity) {}

  bool offer(const space::Config& config, double score) {
    if (capacity_ == 0 || (heap_.size() == capacity_ && !(score > heap_.top().score))) return false;
    if (heap_.size() == capacity_) heap_.pop();
    heap_.push({score, next_++, config});
    return true;
  }
  // Gives out the set, best first, and empties it.
  void take(std::vector<space::Config>& configs, std::vector<double>& scores) {
    for (; !heap_.empty(); heap_.pop()) {
      configs.push_back(heap_.top().config);
      scores.push_back(heap_.top().score);
    }
    std::ranges::reverse(configs);
    std::ranges::reverse(scores);
  }

 private:
  struct Entry {
    double score;
    std::uint64_t order;
    space::Config config;
    // The heap's top leaves first: the worst, and among equals the latest.
    bool operator<(const Entry& other) const {
      return score != other.score ? score > other.score : order < other.order;
    }
  };
  std::size_t capacity_;
  std::uint64_t next_ = 0;
  std::priority_queue<Entry> heap_;
};

class Annealing final : public Searcher {
 public:
  Annealing(const space::Domain& domain, Scorer& scorer, const Options& options, std::uint64_t seed)
      : domain_(domain), scorer_(scorer), options_(options), unseen_(domain), rng_(seed) {}

  std::vector<space::Config> ask(int wanted) override {
    if (wanted <= 0) return {};
    if (!scorer_.ready()) return unseen_.draw(wanted, rng_);
    const int explored = random_share(wanted);
    std::vector<space::Config> batch = anneal(wanted - explored);
    for (const auto& config : batch) unseen_.mark(config);
    for (auto& config : unseen_.draw(wanted - static_cast<int>(batch.size()), rng_))
      batch.push_back(std::move(config));
    return batch;
  }

  void tell(std::span<const Measured> results) override {
    for (const auto& result : results) {
      unseen_.mark(result.config);
      if (std::isfinite(result.seconds)) best_.push_back(result);
    }
    std::ranges::stable_sort(best_, {}, &Measured::seconds);
    if (best_.size() > elites()) best_.resize(elites());
  }

  void exclude(std::span<const space::Config> configs) override {
    for (const auto& config : configs) unseen_.mark(config);
  }

 private:
  std::size_t elites() const {
    return static_cast<std::size_t>(std::max(0.0, options_.elite * options_.chains));
  }

  // epsilon * wanted. Its fraction is rounded by chance, so that small batches explore, too.
  int random_share(int wanted) {
    const double share = std::max(options_.epsilon, 1 - scorer_.trust()) * wanted;
    const int whole = static_cast<int>(share);
    return std::min(wanted, whole + (rng_.chance(share - whole) ? 1 : 0));
  }

  // One round: picks `wanted` configurations of the best that the chains meet.
  std::vector<space::Config> anneal(int wanted) {
    known_.clear();
    TopSet top(
        static_cast<std::size_t>(std::max<double>(wanted, std::ceil(options_.lambda * wanted))));
    const Scale scale = start_round(top);
    int idle = 0;
    for (int step = 0; step < options_.steps && idle < options_.patience && !stopped(); ++step) {
      const double temperature = options_.temperature * scale.deviation *
                                 (1.0 - static_cast<double>(step) / options_.steps);
      idle = move(temperature, top) ? 0 : idle + 1;
    }
    std::vector<space::Config> candidates, batch;
    std::vector<double> scores;
    top.take(candidates, scores);
    keep_one_a_program(candidates, scores);
    for (const int i : pick_diverse(candidates, scores, wanted, options_.alpha))
      batch.push_back(std::move(candidates[static_cast<std::size_t>(i)]));
    return batch;
  }

  // Of configurations that are one program, keeps the one with the best score.
  void keep_one_a_program(std::vector<space::Config>& candidates,
                          std::vector<double>& scores) const {
    std::unordered_set<std::uint64_t> programs;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!programs.insert(domain_.program_number(candidates[i])).second) continue;
      if (kept != i) candidates[kept] = std::move(candidates[i]);
      scores[kept++] = scores[i];
    }
    candidates.resize(kept);
    scores.resize(kept);
  }

  // The model has changed since the last round. So this scores the chains anew, restarts the worst
  // of them from the best measured configurations, and takes the spread of scores over the chains
  // and as many fresh random configurations (chains alone have converged).
  Scale start_round(TopSet& top) {
    const auto random = [this](std::size_t i) { return domain_.random(rngs_[i]); };
    if (chains_.empty()) {
      for (int i = 0; i < options_.chains; ++i) rngs_.push_back(rng_.fork());
      for_each_chain(chains_, random);
    }
    std::vector<space::Config> sample;
    for_each_chain(sample, random);
    sample.insert(sample.begin(), chains_.begin(), chains_.end());
    std::vector<double> scores;
    evaluate(sample, scores, top);
    scores_.assign(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(chains_.size()));
    restart_worst(top);
    return scale_of(scores);
  }

  void restart_worst(TopSet& top) {
    std::vector<space::Config> elite;
    for (const auto& measured : best_) elite.push_back(measured.config);
    std::vector<double> elite_scores;
    evaluate(elite, elite_scores, top);
    std::vector<std::size_t> order(chains_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [this](std::size_t i) { return scores_[i]; });
    for (std::size_t i = 0; i < elite.size() && i < order.size(); ++i) {
      chains_[order[i]] = elite[i];
      scores_[order[i]] = elite_scores[i];
    }
  }

  bool accept(double score, double proposal, double temperature) {
    if (proposal >= score) return true;  // even where both are hopeless
    return temperature > 0 && rng_.uniform() < std::exp((proposal - score) / temperature);
  }

  // A configuration for each chain, whose random numbers are its own: threads may share the work.
  template <class Make>
  void for_each_chain(std::vector<space::Config>& out, const Make& make) {
    out.resize(rngs_.size());
    in_parts(out.size(), options_.jobs, kSmallestPart, [&](std::size_t begin, std::size_t count) {
      for (std::size_t i = begin; i < begin + count; ++i) out[i] = make(i);
    });
  }

  // Every chain proposes a neighbour, and all are scored at once. Returns true if the top set
  // changed.
  bool move(double temperature, TopSet& top) {
    for_each_chain(proposals_,
                   [this](std::size_t i) { return domain_.neighbour(chains_[i], rngs_[i]); });
    const bool changed = evaluate(proposals_, proposal_scores_, top);
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      if (accept(scores_[i], proposal_scores_[i], temperature)) {
        chains_[i].swap(proposals_[i]);
        scores_[i] = proposal_scores_[i];
      }
    }
    return changed;
  }

  // Scores `configs`. Those that are new in this round go to the model in one call and are offered
  // to the top set.
  bool evaluate(const std::vector<space::Config>& configs, std::vector<double>& scores,
                TopSet& top) {
    fresh_.clear();
    where_.clear();
    for (const auto& config : configs) {
      const auto [entry, added] = known_.try_emplace(config, 0.0);
      if (added) fresh_.push_back(config);
      where_.push_back(&entry->second);  // a reference into the map stays valid while the map grows
    }
    fresh_scores_.assign(fresh_.size(), 0.0);
    if (!fresh_.empty()) scorer_.score(fresh_, fresh_scores_);
    bool changed = false;
    for (std::size_t i = 0; i < fresh_.size(); ++i) {
      const double score = std::isnan(fresh_scores_[i]) ? kHopeless : fresh_scores_[i];
      known_[fresh_[i]] = score;
      if (!unseen_.contains(fresh_[i]) && top.offer(fresh_[i], score)) changed = true;
    }
    scores.clear();
    for (const double* score : where_) scores.push_back(*score);
    return changed;
  }

  static constexpr std::size_t kSmallestPart = 32;  // chains for which a thread is worth starting
  static constexpr double kHopeless = -std::numeric_limits<double>::infinity();

  const space::Domain& domain_;
  Scorer& scorer_;
  Options options_;
  Unseen unseen_;
  Rng rng_;
  std::vector<Measured> best_;         // fastest first
  std::vector<space::Config> chains_;  // persist across rounds
  std::vector<Rng> rngs_;              // of the chains
  std::vector<double> scores_;         // of the chains, in this round
  // Scores of this round; nobody iterates over them.
  std::unordered_map<space::Config, double, space::ConfigHash> known_;
  std::vector<space::Config> proposals_, fresh_;
  std::vector<double> proposal_scores_, fresh_scores_;
  std::vector<const double*> where_;
};

}  // namespace

std::unique_ptr<Searcher> make_annealing(const space::Domain& domain, Scorer& scorer,
                                         const Options& options, std::uint64_t seed) {
  return std::make_unique<Annealing>(domain, scorer, options, seed);
}

}  // namespace lathe::search
