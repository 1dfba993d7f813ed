// A flattened forest of regression trees. It scores in place of the library that trained it,
// because scoring runs on several threads at once, from saved bytes, and is the inner loop of the
// search.
//
// Every tree is completed to a perfect binary tree of its depth, so that each row takes a fixed
// number of steps without branches: at node i go to 2i+1 if the feature is below the threshold,
// else (also for NaN) to 2i+2.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lathe::model {

// A tree as the trainer has it. Node 0 is the root; a leaf has left == -1.
struct Tree {
  struct Node {
    int left = -1, right = -1;
    int feature = 0;
    float threshold = 0;
    float value = 0;  // of a leaf
  };
  std::vector<Node> nodes;
};

class Forest {
 public:
  static constexpr int kMaxDepth = 12;

  Forest() = default;
  // The error tells which tree is none: children out of range, a cycle, a feature beyond `width`,
  // too deep.
  static Result<Forest> build(std::span<const Tree> trees, int width);

  int width() const { return width_; }
  int trees() const { return static_cast<int>(trees_.size()); }

  // Adds up leaves in the order of the trees. `features` is row-major, with width() floats in a
  // row.
  void predict(std::span<const float> features, std::span<float> scores) const;

  void append_to(std::string& bytes) const;
  // Reads what append_to wrote from the front of `bytes`, and removes it there.
  static Result<Forest> read_from(std::string_view& bytes);

 private:
  struct Node {
    float threshold;
    std::uint32_t feature;
  };
  struct Place {
    std::uint32_t depth, first_node, first_leaf;
  };
  template <int kRows>
  void predict_block(const float* rows, float* scores) const;
  Status complete(const Tree& tree, int index);

  int width_ = 0;
  std::vector<Place> trees_;
  std::vector<Node> nodes_;    // 2^depth - 1 for each tree
  std::vector<float> leaves_;  // 2^depth for each tree
};

}  // namespace lathe::model
