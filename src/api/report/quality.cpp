#include "api/report/quality.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tuner/learn/evaluation.h"
#include "tuner/model/metrics.h"

namespace lathe::report {
namespace {

constexpr std::size_t kMostModels = 100;
constexpr std::size_t kLeastScored = 4;  // fewer trials tell nothing
// Of a batch, evenly spread: the number of pairs grows with the square.
constexpr std::size_t kMostCompared = 2000;

struct Batch {
  int trials = 0;  // of the run, until the end of the batch
  std::vector<float> scores;
  std::vector<double> seconds;
};

// A batch without a model has the same score everywhere.
bool scored(const Batch& batch) {
  return batch.scores.size() >= kLeastScored && std::ranges::any_of(batch.scores, [&](float score) {
           return score != batch.scores.front();
         });
}

std::vector<Batch> batches_of(Trials trials) {
  std::map<int, Batch> batches;
  int count = 0;
  for (const Trial* trial : trials) {
    Batch& batch = batches[trial->batch];
    batch.trials = ++count;
    if (!std::isfinite(trial->score)) continue;
    batch.scores.push_back(static_cast<float>(trial->score));
    batch.seconds.push_back(trial->seconds);
  }
  std::vector<Batch> out;
  for (auto& [number, batch] : batches)
    if (scored(batch)) out.push_back(std::move(batch));
  return out;
}

void thin(Batch& batch) {
  const std::size_t stride = (batch.scores.size() + kMostCompared - 1) / kMostCompared;
  if (stride < 2) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < batch.scores.size(); i += stride, ++kept) {
    batch.scores[kept] = batch.scores[i];
    batch.seconds[kept] = batch.seconds[i];
  }
  batch.scores.resize(kept);
  batch.seconds.resize(kept);
}

// Makes one point of several batches, each weighted by its trials.
Quality mean_of(std::span<const Quality> batches) {
  Quality mean;
  for (const Quality& q : batches) {
    mean.trials = std::max(mean.trials, q.trials);
    mean.judged += q.judged;
    mean.pairwise_accuracy += q.judged * q.pairwise_accuracy;
    mean.rank_correlation += q.judged * q.rank_correlation;
  }
  mean.pairwise_accuracy /= mean.judged;
  mean.rank_correlation /= mean.judged;
  return mean;
}

}  // namespace

std::vector<Quality> model_quality(Trials trials) {
  std::vector<Quality> points;
  for (Batch& batch : batches_of(trials)) {
    const int judged = static_cast<int>(batch.scores.size());
    thin(batch);
    const double accuracy =
        model::pairwise_accuracy(batch.scores, batch.seconds, learn::kJudgedApart);
    const double rank = model::spearman(batch.scores, batch.seconds);
    if (std::isfinite(accuracy) && std::isfinite(rank))
      points.push_back({batch.trials, judged, accuracy, rank});
  }
  std::ranges::stable_sort(points, {}, &Quality::trials);
  const std::size_t joined = (points.size() + kMostModels - 1) / kMostModels;
  std::vector<Quality> out;
  for (std::size_t i = 0; i < points.size(); i += joined)
    out.push_back(mean_of(std::span(points).subspan(i, std::min(joined, points.size() - i))));
  return out;
}

}  // namespace lathe::report
