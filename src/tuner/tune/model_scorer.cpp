#include "tuner/tune/model_scorer.h"

#include <algorithm>
#include <limits>
#include <thread>

namespace lathe::tune {
namespace {

constexpr double kPriorTrials = 16;   // trials the analytic model is worth
constexpr double kNegligible = 0.02;  // weight below which it is not worth its time
// its weight at the beginning, where a global model knows something too
constexpr double kBesideGlobal = 0.5;
constexpr std::size_t kCalibrationRows = 256;
constexpr std::uint64_t kCalibrationSeed = 1;
constexpr std::size_t kSmallestPart = 48;  // configurations for which a thread is worth starting

}  // namespace

search::Scorer* prior_of(const Subject& subject, const Options& options) {
  if (options.model.name == "analytic") return subject.prior();
  return options.model.prior && options.model.name != "none" ? subject.prior() : nullptr;
}

ModelScorer::ModelScorer(const Subject& subject, model::CostModel* model, search::Scorer* prior,
                         int jobs)
    : subject_(subject), model_(model), prior_(prior), jobs_(jobs) {
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
  prior_->score(configs, scores);
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
    prior_->score(configs, scores);
    return prior_scale_.deviation;
  }
  predict(configs, scores);
  if (prior_ == nullptr || prior_weight_ < kNegligible) return learned_scale_.deviation;
  prior_scores_.resize(configs.size());
  prior_->score(configs, prior_scores_);
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] = (1 - prior_weight_) * learned_scale_.of(scores[i]) +
                prior_weight_ * prior_scale_.of(prior_scores_[i]);
  return 1;
}

void ModelScorer::predict(std::span<const space::Config> configs, std::span<double> scores) {
  const std::size_t parts = std::clamp<std::size_t>(configs.size() / kSmallestPart, 1,
                                                    static_cast<std::size_t>(std::max(1, jobs_)));
  const std::size_t size = (configs.size() + parts - 1) / parts;
  std::vector<Status> statuses(parts);
  std::vector<std::thread> threads;
  const auto work = [&](std::size_t part) {
    const std::size_t begin = std::min(part * size, configs.size());
    const std::size_t count = std::min(size, configs.size() - begin);
    statuses[part] = score_part(configs.subspan(begin, count), scores.subspan(begin, count));
  };
  for (std::size_t part = 1; part < parts; ++part) threads.emplace_back(work, part);
  work(0);
  for (auto& thread : threads) thread.join();
  for (auto& status : statuses)
    if (!status && status_) status_ = std::move(status);
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
