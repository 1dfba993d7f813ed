// Adjusts the weights of a network: a library for automatic differentiation, in a plug-in of its
// own (torch/) that is loaded when it is first asked for. Scoring alone never loads it, and Lathe
// builds and runs without it.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "tuner/treegru/packed_trees.h"
#include "tuner/treegru/weights.h"

namespace lathe::treegru {

// A trainer knows no objectives: it is told the slope of the loss at each score.
class Trainer {
 public:
  virtual ~Trainer() = default;
  // Scores the programs of the parts, one after another, and remembers how, for step().
  virtual Status forward(std::span<const PackedTrees> parts, std::span<float> scores) = 0;
  // Does a step of Adam against the slopes at the scores of the last forward().
  virtual Status step(std::span<const float> slopes, double learning_rate) = 0;
  // Reads the trained matrices as they are now.
  virtual Status read(Weights& weights) const = 0;
};

// A trainer that begins from these weights. Up to `threads` threads work on the parts of one
// forward(); the result does not depend on how many. The error tells that this build has no
// trainer, and what to do.
Result<std::unique_ptr<Trainer>> make_trainer(const Weights& start, int threads);
// Checks that make_trainer() can succeed, without loading anything.
Status check_trainer();

// The plug-in exports a function of this type and name. It returns null where the library cannot
// work, and `error` tells why.
inline constexpr char kPluginName[] = "lathe-torch.so";
// The number grows when this interface changes.
inline constexpr char kPluginEntry[] = "lathe_make_trainer_1";
using PluginEntry = Trainer*(const Weights& start, int threads, std::string& error);

}  // namespace lathe::treegru
