// The two objectives of the paper (section 3.2) as gradients of scores. Scores are higher for
// faster rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

namespace lathe::model {

// First and second derivative of the loss for each row's score.
struct Gradients {
  std::vector<float> first, second;
};

// How far apart two times must be, relative to the smaller, to be told apart: never closer than
// `least`, and not where what the two were measured to within overlaps.
class Resolution {
 public:
  explicit Resolution(double least, std::span<const double> spread = {})
      : least_(least), spread_(spread.begin(), spread.end()) {}
  double of(int i, int j) const {
    return spread_.empty() ? least_ : std::max(least_, spread_[i] + spread_[j]);
  }

 private:
  double least_;
  std::vector<double> spread_;  // a row's, or empty
};

// 1 if a is faster than b, -1 if slower, 0 if their relative difference is within `noise` or both
// failed (infinity).
int faster(double a, double b, double noise);

// Equation 2: sum over pairs of log(1 + exp(-(s_i - s_j))), i the faster of the two. Pairs are
// formed within one workload; a row is in at most `pairs_per_row` of them, drawn anew at each call
// from `rng` where there are more. Each row's second derivative is 1 on average where the scores
// are equal, whatever the number of its pairs.
class RankObjective {
 public:
  RankObjective(std::span<const double> seconds, std::span<const int> workload, int pairs_per_row,
                Resolution resolution);
  void gradients(std::span<const float> scores, Rng& rng, Gradients& out);
  // The mean loss of a pair, over the pairs `rng` draws; NaN where no two rows are apart.
  double loss(std::span<const float> scores, Rng& rng);

 private:
  template <class Visit>
  void each_pair(const std::vector<int>& group, Rng& rng, const Visit& visit);

  std::vector<double> seconds_;
  std::vector<std::vector<int>> groups_;  // rows of each workload with more than one
  std::vector<int> order_, offsets_;      // scratch of each_pair
  int pairs_per_row_;
  Resolution resolution_;
};

// Squared error of normalised throughput (metrics.h), within each workload.
class RegressionObjective {
 public:
  RegressionObjective(std::span<const double> seconds, std::span<const int> workload);
  void gradients(std::span<const float> scores, Gradients& out) const;

 private:
  std::vector<double> target_;
};

// What regression is trained on: throughput relative to the fastest row of the workload; failed
// rows are 0.
std::vector<double> throughput_targets(std::span<const double> seconds,
                                       std::span<const int> workload);

// Rows of each workload, in order of the workloads' ids.
std::vector<std::vector<int>> group_rows(std::span<const int> workload);

// Rounds both derivatives to a grid on which sums of up to 2^29 rows are exact in double precision.
// A histogram of them is then the same in whichever order threads add it up, and with it the trees.
void round_for_exact_sums(Gradients& gradients);

}  // namespace lathe::model
