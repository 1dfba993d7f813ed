// Scores programs by learnt weights, without the library that trained them.
#pragma once

#include <span>

#include "tuner/treegru/dense.h"
#include "tuner/treegru/packed_trees.h"
#include "tuner/treegru/weights.h"

namespace lathe::treegru {

class Network {
 public:
  explicit Network(Weights weights);
  const Weights& weights() const { return weights_; }
  // `features` are rows of tree features (feature/tree.h), one after another. Thread-safe; the
  // score of a row does not depend on other rows.
  void score(std::span<const float> features, std::span<float> scores) const;

 private:
  struct Scratch;
  void score_block(std::span<const float> features, std::span<float> scores,
                   Scratch& scratch) const;
  void advance(const Level& level, bool has_children, Scratch& scratch) const;
  void read_out(const Level& level, bool outermost, Scratch& scratch,
                std::span<float> scores) const;

  Weights weights_;
  Dense dense_;
  // x W + b for what does not depend on inputs: one row for each variable, then one for unknown
  // ones.
  Matrix start_;
  Matrix input_;  // the rows of Weights::input for what the loop tells, without the embedding
  Matrix slots_;  // kContext: S, then the readout of each slot
};

}  // namespace lathe::treegru
