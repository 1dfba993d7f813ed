// Algorithm 1 of the paper (section 3.3), without what measures:
//
//   D = {}                                               Known
//   while n_trials < max_n_trials:                       Tuner, or who asks a Proposer
//     Q = annealing over S_e with energy f^              ask(): search::make_annealing, Explorer's
//                                                        scores
//     S = greedy pick of (1 - eps) b from the top of Q   ask(): search::pick_diverse
//     S = S + eps b random candidates                    ask(): search::Options::epsilon
//     measure every s in S; D += (e, s, c)               the caller, then tell()
//     update f^ from D                                   train()
//   return best measured s                               the caller
//
// Other searchers take the place of annealing. Internal to this room.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tuner/tune/known.h"
#include "tuner/tune/model_scorer.h"
#include "tuner/tune/tune.h"

namespace lathe::tune {

class Explorer {
 public:
  // `model` is null where none learns. `trials`: how many the run has made, for a run that goes on
  // must not draw the random numbers of its beginning again. Subject, model and `known` must
  // outlive this.
  Explorer(const Subject& subject, model::CostModel* model, Known& known, const Options& options,
           const SearcherMaker& make_searcher, int trials = 0);
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  // Whether `known` has rows on which the model has not trained, and enough of them.
  bool outdated() const;
  // Updates the model where it is outdated.
  Status train();
  // The next batch. Fewer than wanted only when the space is exhausted, or the search was stopped.
  Result<std::vector<space::Config>> ask(int wanted);
  // Tells the searcher what was measured since.
  void tell();

  // Higher is faster; all 0 while nothing scores.
  Result<std::vector<double>> scores(std::span<const space::Config> configs);
  // These are chosen by others, and never asked for.
  void exclude(std::span<const space::Config> configs) { searcher_->exclude(configs); }
  // A search ends early once this returns true.
  void stop_when(std::function<bool()> stop) { searcher_->stop_when(std::move(stop)); }

 private:
  model::CostModel* model_;
  Known& known_;
  ModelScorer scorer_;
  std::unique_ptr<search::Searcher> searcher_;
  int trained_rows_ = 0;
  std::size_t told_ = 0;
};

}  // namespace lathe::tune
