// Made-up trees of loops with made-up times that follow from the loops by a known rule.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"
#include "tuner/feature/tree.h"
#include "tuner/model/model.h"

namespace lathe::treegru {

inline constexpr const char* kNames[] = {"i.o", "j.o", "k.o", "i.i", "j.i", "k.i"};
// of a loop's length, by its variable
inline constexpr double kWeight[] = {0.3, -0.2, 0.1, -0.4, 0.5, 0.0};

// A program of up to `most` loops; returns the logarithm of its time. A vectorized innermost loop
// makes it faster.
inline double add_tree(Rng& rng, int most, std::vector<float>& out) {
  const std::size_t begin = out.size();
  out.resize(begin + static_cast<std::size_t>(feature::tree_width()));
  float* row = out.data() + begin;
  for (int n = 0; n < feature::kTreeNodes; ++n)
    row[n * feature::kTreeNodeWidth + feature::kNodeParent] = feature::kNoNode;
  const int nodes = static_cast<int>(rng.between(1, most));
  double log_time = 0;
  for (int n = 0; n < nodes; ++n) {
    float* node = row + n * feature::kTreeNodeWidth;
    const auto name = rng.below(std::size(kNames));
    // A chain, mostly, with siblings here and there.
    const std::int64_t parent = n == 0 ? -1 : rng.chance(0.8) ? n - 1 : rng.between(-1, n - 1);
    node[feature::kNodeParent] = static_cast<float>(parent);
    node[feature::kNodeVariable] = feature::variable_code(kNames[name]);
    float* context = node + feature::kNodeContext;
    for (int i = feature::kLoopHeader; i < feature::kLoopContext; ++i)
      context[i] = static_cast<float>(rng.below(3));
    // What the variable means shows in the context too, as it does in programs.
    context[feature::kLoopHeader] = static_cast<float>(10 * kWeight[name]);
    const auto length = static_cast<float>(rng.below(9));
    const bool vector = n == nodes - 1 && rng.chance(0.5);
    context[0] = length;
    context[1] = vector ? 1 : 0;
    log_time += kWeight[name] * length - (vector ? 1.5 : 0);
  }
  return log_time;
}

// Every twelfth row or so has failed.
inline model::Rows tree_rows(int count, int workloads, std::uint64_t seed, int most = 6) {
  Rng rng(seed);
  model::Rows rows;
  rows.width = feature::tree_width();
  for (int i = 0; i < count; ++i) {
    const double log_time = add_tree(rng, most, rows.features);
    rows.seconds.push_back(rng.chance(1.0 / 12) ? std::numeric_limits<double>::infinity()
                                                : 1e-3 * std::exp(log_time));
    rows.workload.push_back(i % workloads);
  }
  return rows;
}

}  // namespace lathe::treegru
