// Statistical cost models (paper, section 3.1 and 3.2) behind one interface.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::model {

enum class Objective { kRank, kRegression };

// Training rows: features row-major, cost in seconds, the workload each row belongs to (pairs of the rank objective are
// formed within one workload only).
struct Rows {
  int width = 0;
  std::vector<float> features;
  std::vector<double> seconds;   // infinity: failed
  std::vector<int> workload;
  int count() const { return static_cast<int>(seconds.size()); }
};

// Predictions are scores, higher is faster, comparable within one workload.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual Status train(const Rows& rows) = 0;      // from scratch
  virtual bool trained() const = 0;
  virtual Status predict(std::span<const float> features, int width, std::span<float> scores) const = 0;  // thread-safe
  virtual Result<std::string> save() const = 0;    // bytes
  virtual Status load(const std::string& bytes) = 0;
};

struct XgboostOptions {
  Objective objective = Objective::kRank;
  int rounds = 64;
  int max_depth = 6;
  double learning_rate = 0.2;
  int max_bin = 64;
  int threads = 1;
  int pairs_per_row = 64;        // rank: at most this many pairs a row
  std::uint64_t seed = 0;
};
std::unique_ptr<CostModel> make_xgboost(const XgboostOptions& options);

}  // namespace lathe::model
