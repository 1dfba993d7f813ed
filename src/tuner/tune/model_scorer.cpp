#include "tuner/tune/model_scorer.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/in_parts.h"

namespace lathe::tune {
namespace {

constexpr double kPriorTrials = 16;   // trials the analytic model is worth
constexpr double kNegligible = 0.02;  // weight below which it is not worth its time
// its weight at the beginning, where a global model knows something too
constexpr double kBesideGlobal = 0.5;
constexpr std::size_t kCalibrationRows = 256;
constexpr std::uint64_t kCalibrationSeed = 1;
constexpr std::size_t kSmallestPart = 48;  // configurations for which a thread is worth starting

// The analytic model, where the options ask for it and the learned one does not begin from it.
search::Scorer* prior_of(const Subject& subject, const Options& options) {
  if (options.model.name == "analytic") return subject.prior();
  if (begins_from_cycles(options, subject.tells_cycles())) return nullptr;
  return options.model.prior && options.model.name != "none" ? subject.prior() : nullptr;
}

}  // namespace

ModelScorer::ModelScorer(const Subject& subject, model::CostModel* model, const Options& options)
    : subject_(subject),
      model_(model),
      prior_(prior_of(subject, options)),
      jobs_(options.run.jobs),
      guesses_(options.model.global == nullptr &&
               begins_from_cycles(options, subject.tells_cycles())) {
  if (prior_ == nullptr || !learned()) return;
  most_weight_ = prior_weight_ = kBesideGlobal;
  set_scales(sample());
}

std::vector<space::Config> ModelScorer::sample() const {
  Rng rng(kCalibrationSeed);
  std::vector<space::Config> sample(kCalibrationRows);
  for (auto& config : sample) config = subject_.domain().random(rng);
  return sample;
}

void ModelScorer::calibrate(std::span<const search::Measured> measured, int worked) {
  if (!learned()) return;
  guesses_ = false;
  const auto recent = measured.last(std::min<std::size_t>(measured.size(), kCalibrationRows));
  std::vector<space::Config> configs;
  for (const auto& m : recent) configs.push_back(m.config);
  // all that was learnt may be of another machine or code generator
  set_scales(configs.size() < 2 ? sample() : configs);
  prior_weight_ = most_weight_ * kPriorTrials / (kPriorTrials + worked);
}

void ModelScorer::set_scales(std::span<const space::Config> configs) {
  std::vector<double> scores(configs.size());
  predict(configs, scores);
  learned_scale_ = search::scale_of(scores);
  if (prior_ == nullptr) return;
  judge(configs, scores);
  prior_scale_ = search::scale_of(scores);
}

void ModelScorer::score(std::span<const space::Config> configs, std::span<double> scores) {
  const double unit = score_speed(configs, scores);
  if (cost_ == nullptr || thrift_ == 0 || !learned()) return;
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] -= thrift_ * unit * cost_->excess(configs[i]);
}

double ModelScorer::score_speed(std::span<const space::Config> configs, std::span<double> scores) {
  if (!learned()) {
    judge(configs, scores);
    return prior_scale_.deviation;
  }
  predict(configs, scores);
  if (prior_ == nullptr || prior_weight_ < kNegligible) return learned_scale_.deviation;
  prior_scores_.resize(configs.size());
  judge(configs, prior_scores_);
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] = (1 - prior_weight_) * learned_scale_.of(scores[i]) +
                prior_weight_ * prior_scale_.of(prior_scores_[i]);
  return 1;
}

void ModelScorer::judge(std::span<const space::Config> configs, std::span<double> scores) const {
  in_parts(configs.size(), jobs_, kSmallestPart, [&](std::size_t begin, std::size_t count) {
    prior_->score(configs.subspan(begin, count), scores.subspan(begin, count));
  });
}

void ModelScorer::predict(std::span<const space::Config> configs, std::span<double> scores) {
  std::mutex mutex;
  in_parts(configs.size(), jobs_, kSmallestPart, [&](std::size_t begin, std::size_t count) {
    Status status = score_part(configs.subspan(begin, count), scores.subspan(begin, count));
    const std::lock_guard lock(mutex);
    if (!status && status_) status_ = std::move(status);
  });
}

Status ModelScorer::score_part(std::span<const space::Config> configs,
                               std::span<double> scores) const {
  const int width = subject_.feature_width();
  std::vector<float> rows(configs.size() * static_cast<std::size_t>(width));
  std::vector<float> out(configs.size());
  subject_.features(configs, rows, 1);
  std::ranges::fill(scores, -std::numeric_limits<double>::infinity());
  LATHE_TRY_STATUS(model_->predict(rows, width, out));
  std::ranges::copy(out, scores.begin());
  return {};
}

}  // namespace lathe::tune
