#include "tuner/tune/proposer.h"

#include <cmath>

#include "tuner/tune/model_scorer.h"

namespace lathe::tune {
namespace {

class ModelProposer final : public Proposer {
 public:
  ModelProposer(const Subject& subject, std::unique_ptr<model::CostModel> model,
                const SearcherMaker& make, const Options& options)
      : subject_(subject),
        model_(std::move(model)),
        scorer_(subject, model_.get(), prior_of(subject, options), options.run.jobs),
        searcher_(make(subject.domain(), scorer_, options.run.seed)) {
    rows_.width = subject.feature_width();
  }

  Result<std::vector<space::Config>> ask(int wanted) override {
    if (model_ && worked_ >= 2 && trained_ < rows_.count()) {
      LATHE_TRY_STATUS(model_->update(rows_));
      trained_ = rows_.count();
      scorer_.calibrate(told_, worked_);
    }
    auto configs = searcher_->ask(wanted);
    LATHE_TRY_STATUS(scorer_.status());
    return configs;
  }

  Status tell(const std::vector<search::Measured>& results) override {
    searcher_->tell(results);
    if (!model_) return {};
    told_.insert(told_.end(), results.begin(), results.end());
    for (const auto& [config, seconds] : results) {
      const std::size_t width = static_cast<std::size_t>(rows_.width);
      rows_.features.resize(rows_.features.size() + width);
      subject_.features({&config, 1}, std::span(rows_.features).last(width), 1);
      rows_.seconds.push_back(seconds);
      rows_.workload.push_back(0);
      worked_ += std::isfinite(seconds);
    }
    return {};
  }

 private:
  const Subject& subject_;
  std::unique_ptr<model::CostModel> model_;
  ModelScorer scorer_;
  std::unique_ptr<search::Searcher> searcher_;
  model::Rows rows_;
  std::vector<search::Measured> told_;
  int worked_ = 0, trained_ = 0;
};

}  // namespace

Result<std::unique_ptr<Proposer>> Proposer::make(const Subject& subject, const Options& options) {
  const auto maker = LATHE_TRY(searcher_of(options));
  auto model = LATHE_TRY(model_of(options));
  return std::make_unique<ModelProposer>(subject, std::move(model), maker, options);
}

}  // namespace lathe::tune
