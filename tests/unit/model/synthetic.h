// A made-up tuning problem with an answer: times follow from features by a known, non-linear rule.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tuner/model/metrics.h"
#include "tuner/model/model.h"
#include "tuner/model/objective.h"

namespace lathe::model {

inline constexpr int kSyntheticWidth = 11;
inline constexpr double kFailed = std::numeric_limits<double>::infinity();  // seconds

inline std::vector<float> scores_of(const CostModel& model, const Rows& rows) {
  std::vector<float> scores(rows.seconds.size());
  const Status status = model.predict(rows.features, rows.width, scores);
  EXPECT_TRUE(status) << status.error().text();
  return scores;
}

// Seconds of a row of `workload`; every eighth row or so fails, which the last feature gives away.
inline Rows synthetic_rows(int count, int workloads, std::uint64_t seed, double noise = 0.0) {
  Rng rng(seed);
  Rows rows;
  rows.width = kSyntheticWidth;
  for (int i = 0; i < count; ++i) {
    const int workload = i % workloads;
    float x[kSyntheticWidth];
    for (float& v : x) v = static_cast<float>(rng.below(9));
    const bool fails = x[10] >= 8;
    double log_time = workload * 3.0 + 0.4 * std::abs(x[0] - 5) + 0.2 * x[1] +
                      (x[2] > 4 ? 1.0 : 0.0) + 0.1 * x[3] * x[4] - 0.15 * x[5];
    log_time += noise * rng.normal();
    rows.features.insert(rows.features.end(), x, x + kSyntheticWidth);
    rows.seconds.push_back(fails ? std::numeric_limits<double>::infinity()
                                 : 1e-3 * std::exp(log_time));
    rows.workload.push_back(workload);
  }
  return rows;
}

// These with one more column: log2 of the cycles that a rough model predicts, which knows nothing
// of the first two features; of failed rows as if they had worked in a second.
inline Rows with_cycles(const Rows& rows) {
  Rows out = rows;
  out.width = rows.width + 1;
  out.features.clear();
  for (int i = 0; i < rows.count(); ++i) {
    const auto begin = rows.features.begin() + static_cast<std::ptrdiff_t>(i) * rows.width;
    out.features.insert(out.features.end(), begin, begin + rows.width);
    const double seconds = std::isfinite(rows.seconds[i]) ? rows.seconds[i] : 1;
    const double unknown = 0.4 * std::abs(begin[0] - 5) + 0.2 * begin[1];
    out.features.push_back(static_cast<float>(std::log2(1e9 * seconds * std::exp(-unknown))));
  }
  return out;
}

// Error of the best constant prediction, workloads weighted equally: what learning has to beat.
inline double deviation_of_throughput(const Rows& rows) {
  const auto groups = group_rows(rows.workload);
  double sum = 0;
  for (const std::vector<int>& group : groups) {
    std::vector<double> seconds, target(group.size());
    for (const int row : group) seconds.push_back(rows.seconds[row]);
    normalised_throughput(seconds, target);
    double total = 0, squares = 0;
    for (const double t : target) {
      total += t;
      squares += t * t;
    }
    const double n = static_cast<double>(target.size());
    sum += std::sqrt(squares / n - total * total / (n * n));
  }
  return sum / static_cast<double>(groups.size());
}

}  // namespace lathe::model
