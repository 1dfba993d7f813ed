#include "research/recorded/recording.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "base/statistics.h"

namespace lathe::recorded {
namespace {

// The factor from the races' times to the recording's; 1 if nothing was raced.
double race_scale(const std::vector<Trial>& trials) {
  std::vector<double> ratios;
  for (const Trial& trial : trials)
    if (trial.raced_seconds > 0) ratios.push_back(trial.seconds / trial.raced_seconds);
  return ratios.empty() ? 1 : quantile(std::move(ratios), 0.5);
}

bool sound(const Trial& trial) {
  const bool timed = trial.seconds > 0 && trial.raced_seconds >= 0 &&
                     std::isfinite(trial.raced_seconds) && trial.spread >= 0 &&
                     std::isfinite(trial.spread);
  return timed && (trial.failure < 0) == std::isfinite(trial.seconds);  // false for NaN
}

}  // namespace

std::optional<std::size_t> Recording::find(const space::Config& config) const {
  const auto found = places_.find(config);
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

Status Recording::set_trials(std::vector<Trial> trials) {
  configs_ = space::all_configs(*space);
  places_.clear();
  if (trials.size() != configs_.size())
    return fail(ErrorKind::kDataLoss, "there are {} trials of {} configurations", trials.size(),
                configs_.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!sound(trials[i]) || trials[i].failure >= static_cast<int>(failures.size()))
      return fail(ErrorKind::kDataLoss, "the trial of {} has times that cannot be",
                  space->describe(configs_[i]));
    places_.emplace(configs_[i], i);
  }
  trials_ = std::move(trials);
  believe();
  return {};
}

void Recording::believe() {
  const double scale = race_scale(trials_);
  believed_.clear();
  double fastest_raced = 0;
  for (const Trial& trial : trials_) {
    const bool raced = trial.raced_seconds > 0;
    believed_.push_back(raced ? trial.raced_seconds * scale : trial.seconds);
    if (raced && (fastest_raced == 0 || believed_.back() < fastest_raced))
      fastest_raced = believed_.back();
  }
  for (double& seconds : believed_) seconds = std::max(seconds, fastest_raced);
  best_ = believed_.empty() ? std::numeric_limits<double>::infinity() : std::ranges::min(believed_);
}

Recording Recording::shuffled(std::uint64_t seed) const {
  Recording out = *this;
  Rng rng(seed);
  std::vector<std::size_t> order(trials_.size());
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, rng);
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.trials_[i] = trials_[order[i]];
    out.believed_[i] = believed_[order[i]];
  }
  return out;
}

}  // namespace lathe::recorded
