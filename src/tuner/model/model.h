// Statistical cost models (paper, section 3.1 and 3.2) behind one interface.
//
// A program that trains must set OMP_WAIT_POLICY=passive in its environment before it is executed
// (the OpenMP runtime reads it at load time): the library's idle threads would otherwise spin
// beside what is being measured. With threads = 1 no such threads are made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/treegru/weights.h"

namespace lathe::model {

enum class Objective { kRank, kRegression };

// Training rows: features row-major, cost in seconds, the workload each row belongs to (pairs of
// the rank objective are formed within one workload only).
struct Rows {
  int width = 0;
  std::vector<float> features;
  std::vector<double> seconds;  // above 0; infinity: failed, slower than all that worked
  std::vector<int> workload;
  // What each time was measured to within, relative; empty: nothing is known beyond
  // XgboostOptions::noise.
  std::vector<double> spread;
  int count() const { return static_cast<int>(seconds.size()); }
};
// The rows of these numbers, in order; a number may come more than once.
Rows select(const Rows& rows, std::span<const int> numbers);

// Predictions are scores, higher is faster, comparable within one workload.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // From scratch; the model stays as it was on an error. Equal rows, options and seed give the same
  // model, bit for bit, whatever the number of threads.
  virtual Status train(const Rows& rows) = 0;
  // In a search, as its trials come in: `rows` are those of the call before and more. May begin
  // from what it knows where that saves time; equal calls in the same order give the same model.
  virtual Status update(const Rows& rows) { return train(rows); }
  virtual bool trained() const = 0;
  // thread-safe
  virtual Status predict(std::span<const float> features, int width,
                         std::span<float> scores) const = 0;
  virtual Result<std::string> save() const = 0;  // bytes, with versions and a checksum
  // Refuses bytes that are no model, cut short, damaged, of another kind or for other features, and
  // says which; the model stays as it was then. What was loaded predicts as what was saved, bit for
  // bit.
  virtual Status load(const std::string& bytes) = 0;
};

struct XgboostOptions {
  Objective objective = Objective::kRank;
  int rounds = 64;
  int max_depth = 6;
  double learning_rate = 0.2;
  int max_bin = 64;
  int threads = 1;         // for training; the result does not depend on it
  int pairs_per_row = 64;  // rank: at most this many pairs a row
  // rank: times relatively closer than this, or than their spreads, form no pair
  double noise = 0.01;
  std::uint64_t seed = 0;
  // f_global of section 4: scores are its scores plus f_local, which training fits to what is left
  // over. Predicts from the start then. Trained with the same objective, so that both are in the
  // same unit; such a model cannot be saved.
  std::shared_ptr<const CostModel> global;
};
std::unique_ptr<CostModel> make_xgboost(const XgboostOptions& options);

// TreeGRU (sections 3.1 and 4): reads rows of tree features (feature/tree.h), learns with libtorch,
// and predicts without it.
struct TreeGruOptions {
  Objective objective = Objective::kRank;
  treegru::Shape shape;
  int batch = 64;    // programs a step of training
  int passes = 120;  // over the rows, at most, and
  // steps, at most: training takes a few seconds however many rows there are
  int steps = 240;
  double learning_rate = 3e-3;  // at first; falls to nothing over the steps
  int update_steps = 64;        // of an update(), at most, which begins from the weights so far
  double update_rate = 2e-3;    // as learning_rate, of an update()
  // share of the rows, by chance, that is never trained on: it tells when to stop
  double held_out = 0.125;
  // training ends after so many looks at the held-out rows without a better one
  int patience = 16;
  int threads = 1;         // for training; the result does not depend on it
  int pairs_per_row = 64;  // as in XgboostOptions, like all that follows
  double noise = 0.01;
  std::uint64_t seed = 0;
  std::shared_ptr<const CostModel> global;
};
std::unique_ptr<CostModel> make_treegru(const TreeGruOptions& options);

// Several models trained on resampled rows; the score is an acquisition function of their
// predictions (section 3.3).
enum class Acquisition { kMean, kExpectedImprovement, kUpperConfidence };
struct BootstrapOptions {
  XgboostOptions member = {.objective = Objective::kRegression};
  int members = 5;
  Acquisition acquisition = Acquisition::kMean;
  double confidence = 1.0;  // kUpperConfidence: mean + confidence * deviation
};
std::unique_ptr<CostModel> make_bootstrap(const BootstrapOptions& options);

// What `make` builds over the global model it is given, which fades: beside n rows of the model's
// own its scores count rows / (rows + n). In section 4 they count fully for ever, and what they are
// wrong about is in the way of the last percents. Not to be trained while another thread predicts.
using MakeOver = std::function<std::unique_ptr<CostModel>(std::shared_ptr<const CostModel> global)>;
std::unique_ptr<CostModel> make_fading(std::shared_ptr<const CostModel> global, double rows,
                                       const MakeOver& make);

}  // namespace lathe::model
