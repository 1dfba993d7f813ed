// Rows of tree features (feature/tree.h) as a network works on them: all loops of a depth at once,
// over all programs.
#pragma once

#include <span>
#include <vector>

#include "tuner/treegru/weights.h"

namespace lathe::treegru {

// The loops with the same number of loops around them.
struct Level {
  std::vector<int> parent;  // position in the level above; of the outermost loops: the program
  std::vector<int> program;
  std::vector<int> variable;  // Weights::variable
  std::vector<float> inputs;  // inputs_of(form) each
  int count() const { return static_cast<int>(parent.size()); }
};

struct Batch {
  int programs = 0;
  std::vector<Level> levels;  // from the outermost loops; a program without loops is in none
};

Batch make_batch(const Weights& weights, std::span<const float> features);

}  // namespace lathe::treegru
