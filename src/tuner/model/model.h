// Statistical cost models (paper, sections 3.1 and 3.2) behind one interface.
//
// A program that trains and measures should set OMP_WAIT_POLICY=passive in its environment before
// it starts, as `lathe` does: the OpenMP runtime reads it at load time, and idle threads of the
// library otherwise spin for milliseconds beside what is being measured. A library leaves that to
// the program that loads it. With threads = 1 there are no such threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/feature/block_row.h"
#include "tuner/treegru/weights.h"

namespace lathe::model {

enum class Objective { kRank, kRegression };

// Training rows: features (row-major), times, and the workload that each row belongs to (the rank
// objective forms pairs within one workload only).
struct Rows {
  int width = 0;
  std::vector<float> features;
  std::vector<double> seconds;  // above 0; infinity: failed, slower than all that succeeded
  std::vector<int> workload;
  // How exactly each time was measured, relative to it; empty: XgboostOptions::noise is all that is
  // known.
  std::vector<double> spread;
  int count() const { return static_cast<int>(seconds.size()); }
};
// The rows with these numbers, in this order; a number may come more than once.
Rows select(const Rows& rows, std::span<const int> numbers);

// Predicts scores: higher is faster, and scores compare within one workload.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // Trains from scratch; on an error the model stays as it was. Equal rows, options and seed give
  // the same model, bit for bit, whatever the number of threads.
  virtual Status train(const Rows& rows) = 0;
  // For a search whose trials come in: `rows` are those of the call before and more. It may begin
  // from what the model knows where that saves time; equal calls in the same order give the same
  // model.
  virtual Status update(const Rows& rows) { return train(rows); }
  virtual bool trained() const = 0;
  // Thread-safe.
  virtual Status predict(std::span<const float> features, int width,
                         std::span<float> scores) const = 0;
  virtual Result<std::string> save() const = 0;  // bytes, with versions and a checksum
  // Refuses bytes that are no model, cut short, damaged, of another kind or for other features, and
  // tells which; the model then stays as it was. A loaded model predicts as the saved one did, bit
  // for bit.
  virtual Status load(const std::string& bytes) = 0;
};

struct XgboostOptions {
  Objective objective = Objective::kRank;
  int rounds = 64;
  int max_depth = 6;
  double learning_rate = 0.2;
  int max_bin = 64;
  int threads = 1;         // for training; the result does not depend on it
  int pairs_per_row = 64;  // rank: at most so many pairs for each row
  // rank: two times closer than this, relatively, or than their spreads, form no pair.
  double noise = 0.01;
  std::uint64_t seed = 0;
  // Rows are made of blocks (feature/blocks.h), and scores are sums over them.
  feature::BlockRow block_row;
  // f_global of section 4. Scores are its scores plus f_local, which training fits to what is left
  // over, so the model predicts from the start. Both must have the same objective, and so the same
  // unit. Such a model cannot be saved.
  std::shared_ptr<const CostModel> global;
  // Where there is no `global`, scores begin from what the rows' last column tells: log2 of the
  // cycles that a model of the device without data predicts (cycle_scores.h). Of kRank alone.
  bool over_cycles = false;
};
std::unique_ptr<CostModel> make_xgboost(const XgboostOptions& options);

// TreeGRU (paper, sections 3.1 and 4) reads rows of tree features (feature/tree.h), learns with
// libtorch, and predicts without it.
struct TreeGruOptions {
  Objective objective = Objective::kRank;
  treegru::Shape shape;
  int batch = 64;    // programs in a step of training
  int passes = 120;  // over the rows, at most
  // At most: training takes a few seconds, however many rows there are.
  int steps = 240;
  double learning_rate = 3e-3;  // at first; it falls to 0 over the steps
  int update_steps = 64;        // most steps of an update(), which begins from the weights so far
  double update_rate = 2e-3;    // learning_rate of an update()
  // The share of the rows that is never trained on: these rows tell when to stop.
  double held_out = 0.125;
  // Training ends when the held-out rows were looked at so many times without a better result.
  int patience = 16;
  int threads = 1;         // for training; the result does not depend on it
  int pairs_per_row = 64;  // this and what follows are as in XgboostOptions
  double noise = 0.01;
  std::uint64_t seed = 0;
  std::shared_ptr<const CostModel> global;
};
std::unique_ptr<CostModel> make_treegru(const TreeGruOptions& options);

// Several models, trained on resampled rows. The score is an acquisition function of their
// predictions (paper, section 3.3).
enum class Acquisition { kMean, kExpectedImprovement, kUpperConfidence };
struct BootstrapOptions {
  XgboostOptions member = {.objective = Objective::kRegression};
  int members = 5;
  Acquisition acquisition = Acquisition::kMean;
  double confidence = 1.0;  // kUpperConfidence: mean + confidence * deviation
};
std::unique_ptr<CostModel> make_bootstrap(const BootstrapOptions& options);

// What `make` builds over a global model that fades: with n rows of the model's own, the global
// scores are weighted by rows / (rows + n). In section 4 of the paper they keep their full weight,
// and their errors hinder the last percents. Don't train it while another thread predicts.
using MakeOver = std::function<std::unique_ptr<CostModel>(std::shared_ptr<const CostModel> global)>;
std::unique_ptr<CostModel> make_fading(std::shared_ptr<const CostModel> global, double rows,
                                       const MakeOver& make);

}  // namespace lathe::model
