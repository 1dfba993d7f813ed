// XGBoost's C library, the parts training needs. The only file whose source includes its headers;
// works with 1.7 and 3.0.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "tuner/model/forest.h"
#include "tuner/model/objective.h"

namespace lathe::model {

struct BoosterOptions {
  int rounds = 64;
  int max_depth = 6;
  int max_bin = 64;
  double learning_rate = 0.2;
  int threads = 1;
  std::uint64_t seed = 0;
};

struct Boosted {
  Forest forest;
  std::vector<float>
      scores;  // the library's own predictions for the training rows: what tests compare with
};

// Derivatives at the scores of all rows after the rounds so far.
using GradientSource = std::function<void(std::span<const float> scores, Gradients& out)>;

// Trains `rounds` trees by histogram. features is row-major. The result depends on data, options
// but threads, and gradients only.
Result<Boosted> boost(std::span<const float> features, int rows, int width,
                      const BoosterOptions& options, const GradientSource& gradients);

}  // namespace lathe::model
