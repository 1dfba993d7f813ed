// Rows of tree features (feature/tree.h) in the form that a network works on: all loops of one
// depth at once, over all programs.
#pragma once

#include <span>
#include <vector>

#include "tuner/treegru/weights.h"

namespace lathe::treegru {

// The loops that have the same number of loops around them.
struct Level {
  std::vector<int> parent;  // position in the level above; for the outermost loops: the program
  std::vector<int> program;
  std::vector<int> variable;  // as Weights::variable gives it
  std::vector<float> inputs;  // inputs_of(variant) floats for each loop
  int count() const { return static_cast<int>(parent.size()); }
};

struct PackedTrees {
  int programs = 0;
  std::vector<Level> levels;  // from the outermost loops on; a program without loops is in none
};

PackedTrees pack_trees(const Weights& weights, std::span<const float> features);

}  // namespace lathe::treegru
