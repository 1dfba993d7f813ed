// Measures how good predicted scores are, by measured times: what TenSet reports (Zheng et al.,
// NeurIPS 2021), so that figures compare. All functions but evaluate() take the rows of one
// workload; evaluate() averages over workloads.
#pragma once

#include <span>

namespace lathe::model {

// Two times count as equal if they are closer than this, relative to the smaller: it is measurement
// noise.
inline constexpr double kDefaultNoise = 0.01;

// The share of pairs of rows with different times whose scores are in the right order; equal scores
// count half. Failed rows (infinity) are slower than all others and equal among themselves. NaN if
// no pair differs.
double pairwise_accuracy(std::span<const float> scores, std::span<const double> seconds,
                         double noise = kDefaultNoise);

// The same over the pairs within the fastest tenth of the rows that succeeded (at least two).
double fast_pairwise_accuracy(std::span<const float> scores, std::span<const double> seconds,
                              double noise = kDefaultNoise);

// Rank correlation between scores and speeds, with ties at their mean rank: 1 is perfect, 0 is
// chance. NaN if all are equal.
double spearman(std::span<const float> scores, std::span<const double> seconds);

// The share of the k fastest rows that are among the k best scored. k is at most the number of
// rows. Equal scores count as if in the worst order, so that a constant model is never lucky.
double top_k_recall(std::span<const float> scores, std::span<const double> seconds, int k);

// The speed of the fastest among the k best scored rows, relative to the fastest of all. 0 if they
// all failed.
double peak_at_k(std::span<const float> scores, std::span<const double> seconds, int k);

// Root mean square error of scores that estimate normalised throughput (the fastest row has 1,
// failed rows 0).
double rmse(std::span<const float> scores, std::span<const double> seconds);

// Throughput relative to the fastest row, on which regression is trained. Failed rows are 0.
void normalised_throughput(std::span<const double> seconds, std::span<double> out);

// Means over the workloads with at least two rows; each workload counts once where it tells
// anything. fast_pairwise_accuracy is NaN if no fastest tenth has two rows to tell apart.
struct Quality {
  double pairwise_accuracy = 0, fast_pairwise_accuracy = 0, spearman = 0, top_1_peak = 0,
         top_4_peak = 0, top_16_peak = 0, top_8_recall = 0, rmse = 0;
  int workloads = 0;
};
Quality evaluate(std::span<const float> scores, std::span<const double> seconds,
                 std::span<const int> workload, double noise = kDefaultNoise);

}  // namespace lathe::model
