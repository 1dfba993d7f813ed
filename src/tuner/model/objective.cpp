#include "tuner/model/objective.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/result.h"
#include "tuner/model/metrics.h"

namespace lathe::model {
namespace {

// log(1 + exp(x)) without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

void round_to_grid(std::vector<float>& values) {
  float largest = 0;
  for (const float v : values) largest = std::max(largest, std::abs(v));
  if (largest == 0) return;
  // Puts values up to 2^exponent on a grid of 2^(exponent - 23): 24 bits each, 53 for the sum.
  const float grid = std::ldexp(1.0F, std::ilogb(largest) + 1 - 23);
  for (float& v : values) v = std::nearbyint(v / grid) * grid;
}

}  // namespace

int faster(double a, double b, double noise) {
  if (std::isinf(a) || std::isinf(b)) return a < b ? 1 : b < a ? -1 : 0;
  if (std::abs(a - b) <= noise * std::min(a, b)) return 0;
  return a < b ? 1 : -1;
}

std::vector<std::vector<int>> group_rows(std::span<const int> workload) {
  std::map<int, std::vector<int>> by_id;
  for (std::size_t i = 0; i < workload.size(); ++i)
    by_id[workload[i]].push_back(static_cast<int>(i));
  std::vector<std::vector<int>> groups;
  for (auto& [id, rows] : by_id) groups.push_back(std::move(rows));
  return groups;
}

RankObjective::RankObjective(std::span<const double> seconds, std::span<const int> workload,
                             int pairs_per_row, Resolution resolution)
    : seconds_(seconds.begin(), seconds.end()),
      groups_(group_rows(workload)),
      pairs_per_row_(std::max(pairs_per_row, 2)),
      resolution_(std::move(resolution)) {
  LATHE_CHECK(seconds.size() == workload.size());
  std::erase_if(groups_, [](const auto& rows) { return rows.size() < 2; });
}

// Where a row has few pairs, takes them all. Otherwise puts the rows on a ring in random order and
// pairs each with those at the same random distances. Distances below half the ring give every row
// exactly two pairs for each distance, and no pair twice.
template <class Visitor>
void RankObjective::each_pair(const std::vector<int>& group, Rng& rng, const Visitor& visit) {
  const int n = static_cast<int>(group.size());
  if (n - 1 <= pairs_per_row_) {
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j) visit(group[i], group[j]);
    return;
  }
  order_ = group;
  shuffle(order_, rng);
  offsets_.resize(static_cast<std::size_t>((n - 1) / 2));
  std::iota(offsets_.begin(), offsets_.end(), 1);
  shuffle(offsets_, rng);
  offsets_.resize(
      std::min<std::size_t>(offsets_.size(), static_cast<std::size_t>(pairs_per_row_ / 2)));
  for (const int offset : offsets_) {
    for (int i = 0; i < n - offset; ++i) visit(order_[i], order_[i + offset]);
    for (int i = n - offset; i < n; ++i) visit(order_[i], order_[i + offset - n]);
  }
}

void RankObjective::gradients(std::span<const float> scores, Rng& rng, Gradients& out) {
  LATHE_CHECK(scores.size() == seconds_.size());
  out.first.assign(scores.size(), 0);
  out.second.assign(scores.size(), 0);
  for (const std::vector<int>& group : groups_) {
    double pairs = 0;
    each_pair(group, rng, [&](int i, int j) {
      const int sign = faster(seconds_[i], seconds_[j], resolution_.of(i, j));
      if (sign == 0) return;
      pairs += 1;
      // The probability that the scores give to the wrong order.
      const float wrong = 1.0F / (1.0F + std::exp(sign * (scores[i] - scores[j])));
      const float slope = sign * wrong, curve = wrong * (1.0F - wrong);
      out.first[i] -= slope;
      out.first[j] += slope;
      out.second[i] += curve;
      out.second[j] += curve;
    });
    if (pairs == 0) continue;
    // A pair adds at most 1/4 to the second derivative of both its rows.
    const float scale = static_cast<float>(2.0 * static_cast<double>(group.size()) / pairs);
    for (const int row : group) {
      out.first[row] *= scale;
      out.second[row] *= scale;
    }
  }
}

double RankObjective::loss(std::span<const float> scores, Rng& rng) {
  double sum = 0, pairs = 0;
  for (const std::vector<int>& group : groups_) {
    each_pair(group, rng, [&](int i, int j) {
      const int sign = faster(seconds_[i], seconds_[j], resolution_.of(i, j));
      if (sign == 0) return;
      pairs += 1;
      sum += softplus(-sign * static_cast<double>(scores[i] - scores[j]));
    });
  }
  return pairs > 0 ? sum / pairs : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> throughput_targets(std::span<const double> seconds,
                                       std::span<const int> workload) {
  LATHE_CHECK(seconds.size() == workload.size());
  std::vector<double> times, target, out(seconds.size());
  for (const std::vector<int>& group : group_rows(workload)) {
    times.clear();
    for (const int row : group) times.push_back(seconds[row]);
    target.resize(times.size());
    normalised_throughput(times, target);
    for (std::size_t i = 0; i < group.size(); ++i) out[group[i]] = target[i];
  }
  return out;
}

RegressionObjective::RegressionObjective(std::span<const double> seconds,
                                         std::span<const int> workload)
    : target_(throughput_targets(seconds, workload)) {}

void RegressionObjective::gradients(std::span<const float> scores, Gradients& out) const {
  LATHE_CHECK(scores.size() == target_.size());
  out.first.resize(scores.size());
  out.second.assign(scores.size(), 1);
  for (std::size_t i = 0; i < scores.size(); ++i)
    out.first[i] = static_cast<float>(scores[i] - target_[i]);
}

void round_for_exact_sums(Gradients& gradients) {
  round_to_grid(gradients.first);
  round_to_grid(gradients.second);
}

}  // namespace lathe::model
