// The parts of XGBoost's C library that training needs, of versions 1.7 and 3.0. Only booster.cpp
// includes the library's headers.
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
  // The library's own predictions for the training rows; tests compare with them.
  std::vector<float> scores;
};

// Gives the derivatives at the scores of all rows after the rounds so far.
using GradientSource = std::function<void(std::span<const float> scores, Gradients& out)>;

// Trains `rounds` trees by histogram. `features` is row-major. The result depends only on the data,
// the gradients and the options other than threads.
Result<Boosted> boost(std::span<const float> features, int rows, int width,
                      const BoosterOptions& options, const GradientSource& gradients);

}  // namespace lathe::model
