// How good predicted scores are, judged by measured times: what TenSet reports (Zheng et al.,
// NeurIPS 2021), so that figures compare. All functions take the rows of one workload; Quality
// averages over workloads.
#pragma once

#include <span>

namespace lathe::model {

// Two times closer than this, relative to the smaller, count as equal: measurement noise.
inline constexpr double kDefaultNoise = 0.01;

// Share of the pairs of rows with different times whose scores are in the right order; equal scores
// count half. Failed rows (infinity) are slower than all others and equal among themselves. NaN if
// no pair differs.
double pairwise_accuracy(std::span<const float> scores, std::span<const double> seconds,
                         double noise = kDefaultNoise);

// The same over the pairs within the fastest tenth of the rows that worked (at least two).
double fast_pairwise_accuracy(std::span<const float> scores, std::span<const double> seconds,
                              double noise = kDefaultNoise);

// Rank correlation between scores and speeds, ties at their mean rank; 1 is perfect, 0 is chance.
// NaN if all are equal.
double spearman(std::span<const float> scores, std::span<const double> seconds);

// Share of the k fastest rows that are among the k best scored. k is cut at the number of rows.
// Equal scores count as if in the worst order, so that a constant model is never lucky.
double top_k_recall(std::span<const float> scores, std::span<const double> seconds, int k);

// Speed of the fastest of the k best scored rows, relative to the fastest of all. 0 if those all
// failed.
double peak_at_k(std::span<const float> scores, std::span<const double> seconds, int k);

// Root mean square error of scores that estimate normalised throughput (fastest row: 1, failed: 0).
double rmse(std::span<const float> scores, std::span<const double> seconds);

// Throughput relative to the fastest row: what regression is trained on. Failed rows are 0.
void normalised_throughput(std::span<const double> seconds, std::span<double> out);

// Means over the workloads with at least two rows, each counting once where it says something.
// fast_pairwise_accuracy is NaN where no fastest tenth has two rows to tell apart.
struct Quality {
  double pairwise_accuracy = 0, fast_pairwise_accuracy = 0, spearman = 0, top_1_peak = 0,
         top_5_peak = 0, top_8_recall = 0, rmse = 0;
  int workloads = 0;
};
Quality evaluate(std::span<const float> scores, std::span<const double> seconds,
                 std::span<const int> workload, double noise = kDefaultNoise);

}  // namespace lathe::model
