// What adjusts the weights of a network: a library for automatic differentiation, in a plug-in of
// its own (torch/) that is loaded when it is first asked for. Who only scores never pays for it,
// and Lathe builds and runs without it.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "tuner/treegru/batch.h"
#include "tuner/treegru/weights.h"

namespace lathe::treegru {

// Knows nothing of objectives: it is told the slope of the loss at each score.
class Trainer {
 public:
  virtual ~Trainer() = default;
  // Scores of the programs of the batches, one after another; remembers how they came about.
  virtual Status forward(std::span<const Batch> batches, std::span<float> scores) = 0;
  // A step of Adam against the slopes at the scores of the last forward().
  virtual Status step(std::span<const float> slopes, double learning_rate) = 0;
  // The trained matrices as they are now.
  virtual Status read(Weights& weights) const = 0;
};

// From these weights on. Batches of one forward() are worked on by up to `threads` threads; the
// result does not depend on how many. The error says that this build has no trainer and what to do.
Result<std::unique_ptr<Trainer>> make_trainer(const Weights& start, int threads);
// Whether make_trainer() can succeed, without loading anything.
Status check_trainer();

// The plug-in's side: it exports a function of this type and name. Null, and `error` says why,
// where the library cannot work.
inline constexpr char kPluginName[] = "lathe-torch.so";
// numbered by changes of this interface
inline constexpr char kPluginEntry[] = "lathe_make_trainer_1";
using PluginEntry = Trainer*(const Weights& start, int threads, std::string& error);

}  // namespace lathe::treegru
