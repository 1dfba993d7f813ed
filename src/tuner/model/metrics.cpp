#include "tuner/model/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "base/result.h"
#include "tuner/model/objective.h"

namespace lathe::model {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The rank of each value among all, ascending from 0, with ties at their mean.
template <class T>
std::vector<double> ranks(std::span<const T> values) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return values[static_cast<std::size_t>(i)]; });
  std::vector<double> rank(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) rank[order[i]] = (begin + end - 1) / 2.0;
    begin = end;
  }
  return rank;
}

double correlation(std::span<const double> a, std::span<const double> b) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : kNone;
}

// Orders rows from best to worst score; among equal scores, slower rows come first.
std::vector<int> by_score(std::span<const float> scores, std::span<const double> seconds) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : seconds[a] > seconds[b];
  });
  return order;
}

std::size_t clip(int k, std::size_t rows) {
  return std::min(rows, static_cast<std::size_t>(std::max(k, 0)));
}

}  // namespace

double pairwise_accuracy(std::span<const float> scores, std::span<const double> seconds,
                         double noise) {
  LATHE_CHECK(scores.size() == seconds.size());
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = i + 1; j < scores.size(); ++j) {
      const int sign = faster(seconds[i], seconds[j], noise);
      if (sign == 0) continue;
      pairs += 1;
      if (scores[i] == scores[j]) right += 0.5;
      else if ((scores[i] > scores[j]) == (sign > 0)) right += 1;
    }
  }
  return pairs > 0 ? right / pairs : kNone;
}

double fast_pairwise_accuracy(std::span<const float> scores, std::span<const double> seconds,
                              double noise) {
  LATHE_CHECK(scores.size() == seconds.size());
  std::vector<int> rows;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    if (std::isfinite(seconds[i])) rows.push_back(static_cast<int>(i));
  std::ranges::stable_sort(rows, {}, [&](int row) { return seconds[row]; });
  rows.resize(std::min(rows.size(), std::max<std::size_t>(2, (rows.size() + 9) / 10)));
  std::vector<float> fast_scores;
  std::vector<double> fast_seconds;
  for (const int row : rows) {
    fast_scores.push_back(scores[row]);
    fast_seconds.push_back(seconds[row]);
  }
  return pairwise_accuracy(fast_scores, fast_seconds, noise);
}

double spearman(std::span<const float> scores, std::span<const double> seconds) {
  LATHE_CHECK(scores.size() == seconds.size());
  if (scores.size() < 2) return kNone;
  const std::vector<double> a = ranks(scores), b = ranks(seconds);
  return -correlation(a, b);
}

double top_k_recall(std::span<const float> scores, std::span<const double> seconds, int k) {
  LATHE_CHECK(scores.size() == seconds.size());
  const std::size_t count = clip(k, scores.size());
  if (count == 0) return kNone;
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(count - 1));
  const double limit = sorted[count - 1];
  const std::vector<int> order = by_score(scores, seconds);
  // More rows may be as slow as the last of the k fastest than have a place among them, e.g. where
  // most failed.
  const auto places = static_cast<std::ptrdiff_t>(count) -
                      std::ranges::count_if(seconds, [&](double s) { return s < limit; });
  const std::span top(order.data(), count);
  const auto hits =
      std::ranges::count_if(top, [&](int row) { return seconds[row] < limit; }) +
      std::min(places, std::ranges::count_if(top, [&](int row) { return seconds[row] == limit; }));
  return static_cast<double>(hits) / static_cast<double>(count);
}

double peak_at_k(std::span<const float> scores, std::span<const double> seconds, int k) {
  LATHE_CHECK(scores.size() == seconds.size());
  const std::size_t count = clip(k, scores.size());
  if (count == 0) return kNone;
  const double best = *std::ranges::min_element(seconds);
  if (!std::isfinite(best)) return kNone;
  const std::vector<int> order = by_score(scores, seconds);
  double found = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < count; ++i) found = std::min(found, seconds[order[i]]);
  return best / found;
}

void normalised_throughput(std::span<const double> seconds, std::span<double> out) {
  LATHE_CHECK(seconds.size() == out.size());
  if (seconds.empty()) return;
  const double best = *std::ranges::min_element(seconds);
  for (std::size_t i = 0; i < seconds.size(); ++i)
    out[i] = std::isfinite(seconds[i]) ? best / seconds[i] : 0.0;
}

double rmse(std::span<const float> scores, std::span<const double> seconds) {
  LATHE_CHECK(scores.size() == seconds.size());
  if (scores.empty()) return kNone;
  std::vector<double> target(seconds.size());
  normalised_throughput(seconds, target);
  double sum = 0;
  for (std::size_t i = 0; i < target.size(); ++i)
    sum += (scores[i] - target[i]) * (scores[i] - target[i]);
  return std::sqrt(sum / static_cast<double>(target.size()));
}

Quality evaluate(std::span<const float> scores, std::span<const double> seconds,
                 std::span<const int> workload, double noise) {
  LATHE_CHECK(scores.size() == seconds.size() && scores.size() == workload.size());
  struct Scored {
    std::vector<float> scores;
    std::vector<double> seconds;
  };
  std::map<int, Scored> by_workload;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    by_workload[workload[i]].scores.push_back(scores[i]);
    by_workload[workload[i]].seconds.push_back(seconds[i]);
  }
  Quality q;
  int with_fast = 0;
  for (const auto& [id, g] : by_workload) {
    const double accuracy = pairwise_accuracy(g.scores, g.seconds, noise);
    if (std::isnan(accuracy)) continue;  // no two rows to tell apart
    const double rank = spearman(g.scores, g.seconds);
    ++q.workloads;
    q.pairwise_accuracy += accuracy;
    const double fast = fast_pairwise_accuracy(g.scores, g.seconds, noise);
    if (!std::isnan(fast)) {
      q.fast_pairwise_accuracy += fast;
      ++with_fast;
    }
    q.spearman += std::isnan(rank) ? 0 : rank;
    q.top_1_peak += peak_at_k(g.scores, g.seconds, 1);
    q.top_4_peak += peak_at_k(g.scores, g.seconds, 4);
    q.top_16_peak += peak_at_k(g.scores, g.seconds, 16);
    q.top_8_recall += top_k_recall(g.scores, g.seconds, 8);
    q.rmse += rmse(g.scores, g.seconds);
  }
  q.fast_pairwise_accuracy = with_fast > 0 ? q.fast_pairwise_accuracy / with_fast : kNone;
  if (q.workloads == 0) return q;
  for (double* sum : {&q.pairwise_accuracy, &q.spearman, &q.top_1_peak, &q.top_4_peak,
                      &q.top_16_peak, &q.top_8_recall, &q.rmse})
    *sum /= q.workloads;
  return q;
}

}  // namespace lathe::model
