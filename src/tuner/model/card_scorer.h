// Scores programs for cards before anything is measured, by what feature/card_plan.h counts.
#pragma once

#include <memory>
#include <span>

#include "base/target.h"
#include "tuner/model/model.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"

namespace lathe::model {

// Scores a space's configurations by -log2 cycles; ready from the start. Thread-safe.
class CardScorer final : public search::Scorer {
 public:
  CardScorer(const space::Space& space, const CudaTarget& card);
  ~CardScorer() override;
  bool ready() const override { return true; }
  void score(std::span<const space::Config> configs, std::span<double> scores) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same for rows of context features of a card, whose last column tells the cycles: f_global
// under a model that ranks, until one was trained on other workloads. Of two programs that it tells
// apart by d in log2 cycles, the first is faster with the odds exp(kOdds * d); so it was on the
// times that `bench_search cards` reads.
std::shared_ptr<const CostModel> card_prior();

// The scorer without data for the target's kind of device.
std::unique_ptr<search::Scorer> make_prior(const space::Space& space, const Target& target,
                                           const Fingerprint& machine);

}  // namespace lathe::model
