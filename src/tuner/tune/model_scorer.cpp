#include "tuner/tune/model_scorer.h"

#include <algorithm>
#include <limits>
#include <thread>

namespace lathe::tune {
namespace {

constexpr std::size_t kSmallestPart = 48;  // configurations for which a thread is worth starting

}  // namespace

void ModelScorer::score(std::span<const search::Config> configs, std::span<double> scores) {
  const std::size_t parts =
      std::clamp<std::size_t>(configs.size() / kSmallestPart, 1, static_cast<std::size_t>(std::max(1, jobs_)));
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

Status ModelScorer::score_part(std::span<const search::Config> configs, std::span<double> scores) const {
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
