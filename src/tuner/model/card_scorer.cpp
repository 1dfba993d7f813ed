#include "tuner/model/card_scorer.h"

#include <cmath>
#include <map>
#include <mutex>

#include "tuner/feature/card_plan.h"
#include "tuner/model/analytic.h"

namespace lathe::model {

struct CardScorer::Impl {
  const feature::CardPlan& plan_of(const space::Sketch& sketch) {
    const std::lock_guard lock(mutex);
    return plans.try_emplace(&sketch, sketch.nest, card).first->second;
  }

  const space::Space& space;
  CudaTarget card;
  std::mutex mutex;
  std::map<const space::Sketch*, feature::CardPlan> plans;
};

CardScorer::CardScorer(const space::Space& space, const CudaTarget& card)
    : impl_(new Impl{space, card, {}, {}}) {}
CardScorer::~CardScorer() = default;

void CardScorer::score(std::span<const space::Config> configs, std::span<double> scores) {
  LATHE_CHECK(configs.size() == scores.size());
  std::vector<std::int64_t> knobs, sizes;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const space::Sketch& sketch = impl_->space.sketch(configs[i]);
    impl_->space.knob_values(configs[i], knobs);
    sketch.nest.sizes.evaluate(knobs, sizes);
    scores[i] = -std::log2(impl_->plan_of(sketch).cycles(sizes));
  }
}

namespace {

class CardPrior final : public CostModel {
 public:
  bool trained() const override { return true; }
  Status predict(std::span<const float> features, int width,
                 std::span<float> scores) const override {
    constexpr float kOdds = 4.2F;
    const auto columns = static_cast<std::size_t>(width);
    for (std::size_t row = 0; row < scores.size(); ++row)
      scores[row] = -kOdds * features[row * columns + columns - 1];
    return {};
  }
  Status train(const Rows&) override { return fixed(); }
  Status load(const std::string&) override { return fixed(); }
  Result<std::string> save() const override { return std::unexpected(fixed().error()); }

 private:
  static Status fixed() {
    return fail(ErrorKind::kUnsupported, "the model of a card is not trained, and is in no file");
  }
};

}  // namespace

std::shared_ptr<const CostModel> card_prior() { return std::make_shared<CardPrior>(); }

std::unique_ptr<search::Scorer> make_prior(const space::Space& space, const Target& target,
                                           const Fingerprint& machine) {
  if (target.kind() == DeviceKind::kCuda)
    return std::make_unique<CardScorer>(space, target.as_cuda());
  return std::make_unique<AnalyticScorer>(space, core_of(target, machine));
}

}  // namespace lathe::model
