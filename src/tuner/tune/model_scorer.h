// Joins features and models to the scores a search asks for. Internal to this room.
//
// Until the learned model is trained the analytic one scores, and shares the batch with chance;
// after that both do, in units of their spread over what was measured, the analytic one with a
// weight that fades. A model that begins from a global one is trained from the start: before
// anything is measured both count the same, in units of their spread over the space. Where features
// tell what the analytic model says, a model that ranks begins from that, and it has no share
// beside.
#pragma once

#include "tuner/search/scale.h"
#include "tuner/tune/trial_cost.h"
#include "tuner/tune/tune.h"

namespace lathe::tune {

class ModelScorer final : public search::Scorer {
 public:
  // `model` may be null. Without it and without an analytic one it is never ready.
  ModelScorer(const Subject& subject, model::CostModel* model, const Options& options);

  bool ready() const override { return status_.has_value() && (learned() || prior_ != nullptr); }
  double trust() const override {
    return model_ == nullptr || (learned() && !guesses_) ? 1 : kUnlearnedTrust;
  }
  // The learned model was trained anew, on these and others; `worked` trials in all gave a time.
  void calibrate(std::span<const search::Measured> measured, int worked);
  // A trial of twice the cost has to promise `thrift` spreads of the scores more, from now on;
  // `cost` outlives this.
  void mind(const TrialCost& cost, double thrift) { cost_ = &cost, thrift_ = thrift; }
  void score(std::span<const space::Config> configs, std::span<double> scores) override;
  // A failed prediction, remembered: score() has no way to say so.
  const Status& status() const { return status_; }

 private:
  static constexpr double kUnlearnedTrust = 0.5;

  bool learned() const { return model_ != nullptr && model_->trained(); }
  std::vector<space::Config> sample() const;  // of the space
  void set_scales(std::span<const space::Config> configs);
  void predict(std::span<const space::Config> configs, std::span<double> scores);
  // The analytic model's scores.
  void judge(std::span<const space::Config> configs, std::span<double> scores) const;
  // By speed alone, and the unit of such scores.
  double score_speed(std::span<const space::Config> configs, std::span<double> scores);
  Status score_part(std::span<const space::Config> configs, std::span<double> scores) const;

  const Subject& subject_;
  model::CostModel* model_;
  search::Scorer* prior_;
  int jobs_;
  bool guesses_;  // what the learned model knows rests on no measurement
  double most_weight_ = 1, prior_weight_ = 0;  // of the analytic one, at the beginning and now
  search::Scale learned_scale_, prior_scale_;
  const TrialCost* cost_ = nullptr;
  double thrift_ = 0;
  std::vector<double> prior_scores_;
  Status status_;
};

}  // namespace lathe::tune
