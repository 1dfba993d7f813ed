#include "tuner/tune/trial_cost.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace lathe::tune {
namespace {

constexpr std::size_t kFewest = 16;  // trials
constexpr int kSweeps = 8;           // over the knobs: each explains what the others leave
constexpr double kShrink = 2;        // trials of no effect that are added to each value's

}  // namespace

void TrialCost::add(const space::Config& config, double build_seconds, double run_seconds) {
  const double seconds = overlap_ ? std::max(run_seconds, (build_seconds + run_seconds) / jobs_)
                                  : build_seconds / jobs_ + run_seconds;
  if (!(seconds > 0) || !std::isfinite(seconds)) return;
  if (!configs_.empty() && configs_.front().size() != config.size()) return;
  configs_.push_back(config);
  costs_.push_back(std::log2(seconds));
}

void TrialCost::fit() {
  if (costs_.size() < kFewest) return;
  const double middle = quantile(costs_, 0.5);
  effects_.assign(configs_.front().size(), {});
  for (const auto& config : configs_)
    for (std::size_t knob = 0; knob < config.size(); ++knob)
      if (effects_[knob].size() <= config[knob])
        effects_[knob].resize(config[knob] + std::size_t{1});
  std::vector<double> left(costs_.size());
  std::ranges::transform(costs_, left.begin(), [middle](double cost) { return cost - middle; });
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t knob = 0; knob < effects_.size(); ++knob) {
      std::vector<double> sums(effects_[knob].size()), counts(effects_[knob].size(), kShrink);
      for (std::size_t i = 0; i < configs_.size(); ++i) {
        left[i] += effects_[knob][configs_[i][knob]];
        sums[configs_[i][knob]] += left[i];
        counts[configs_[i][knob]] += 1;
      }
      for (std::size_t value = 0; value < sums.size(); ++value)
        effects_[knob][value] = sums[value] / counts[value];
      for (std::size_t i = 0; i < configs_.size(); ++i)
        left[i] -= effects_[knob][configs_[i][knob]];
    }
}

double TrialCost::predict(const space::Config& config) const {
  double cost = 0;
  for (std::size_t knob = 0; knob < effects_.size() && knob < config.size(); ++knob)
    if (config[knob] < effects_[knob].size()) cost += effects_[knob][config[knob]];
  return cost;
}

double TrialCost::excess(const space::Config& config) const {
  return effects_.empty() ? 0 : std::max(0.0, predict(config));
}

}  // namespace lathe::tune
