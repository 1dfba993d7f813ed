// Joins features and model to the scores a search asks for. Internal to this room.
#pragma once

#include "tuner/tune/tune.h"

namespace lathe::tune {

class ModelScorer final : public search::Scorer {
 public:
  // `model` may be null: then it is never ready.
  ModelScorer(const Subject& subject, model::CostModel* model, int jobs)
      : subject_(subject), model_(model), jobs_(jobs) {}

  bool ready() const override { return model_ != nullptr && model_->trained() && status_.has_value(); }
  void score(std::span<const search::Config> configs, std::span<double> scores) override;
  // A failed prediction, remembered: score() has no way to say so.
  const Status& status() const { return status_; }

 private:
  Status score_part(std::span<const search::Config> configs, std::span<double> scores) const;

  const Subject& subject_;
  model::CostModel* model_;
  int jobs_;
  Status status_;
};

}  // namespace lathe::tune
