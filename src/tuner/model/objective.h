// The two objectives of the paper (section 3.2) as gradients of scores. Faster rows have higher
// scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

namespace lathe::model {

// The first and second derivative of the loss for each row's score.
struct Gradients {
  std::vector<float> first, second;
};

// How far apart two times must be, relative to the smaller, to be told apart: never closer than
// `least`, and not where the spreads of both overlap.
class Resolution {
 public:
  explicit Resolution(double least, std::span<const double> spread = {})
      : least_(least), spread_(spread.begin(), spread.end()) {}
  double of(int i, int j) const {
    return spread_.empty() ? least_ : std::max(least_, spread_[i] + spread_[j]);
  }

 private:
  double least_;
  std::vector<double> spread_;  // one for each row, or empty
};

// 1 if a is faster than b, -1 if slower; 0 if their relative difference is within `noise`, or both
// failed (infinity).
int faster(double a, double b, double noise);

// Equation 2: the sum over pairs of log(1 + exp(-(s_i - s_j))), where i is the faster of the two.
// Pairs are formed within one workload. A row is in at most `pairs_per_row` of them; where there
// are more, `rng` draws them anew at each call. Where all scores are equal, the second derivative
// of a row is 1 on average, however many pairs it has.
class RankObjective {
 public:
  RankObjective(std::span<const double> seconds, std::span<const int> workload, int pairs_per_row,
                Resolution resolution);
  void gradients(std::span<const float> scores, Rng& rng, Gradients& out);
  // The mean loss of a pair, over the pairs that `rng` draws; NaN if no two rows are apart.
  double loss(std::span<const float> scores, Rng& rng);

 private:
  template <class Visitor>
  void each_pair(const std::vector<int>& group, Rng& rng, const Visitor& visit);

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

// Throughput relative to the fastest row of the workload, on which regression is trained; failed
// rows are 0.
std::vector<double> throughput_targets(std::span<const double> seconds,
                                       std::span<const int> workload);

// The rows of each workload, in the order of the workloads' ids.
std::vector<std::vector<int>> group_rows(std::span<const int> workload);

// Rounds both derivatives to a grid on which sums of up to 2^29 rows are exact in double precision.
// So a histogram of them is the same in whichever order threads add it up, and so are the trees.
void round_for_exact_sums(Gradients& gradients);

}  // namespace lathe::model
