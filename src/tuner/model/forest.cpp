#include "tuner/model/forest.h"

#include <algorithm>
#include <limits>

#include "tuner/model/container.h"

namespace lathe::model {
namespace {

// The depth of the subtree; -1 if this is no tree: a bad child, or deeper than allowed (a cycle
// ends here too).
int depth_of(const Tree& tree, int node, int allowed) {
  if (node < 0 || node >= static_cast<int>(tree.nodes.size()) || allowed < 0) return -1;
  const Tree::Node& n = tree.nodes[node];
  if (n.left == -1) return 0;
  const int left = depth_of(tree, n.left, allowed - 1);
  const int right = depth_of(tree, n.right, allowed - 1);
  return left < 0 || right < 0 ? -1 : 1 + std::max(left, right);
}

}  // namespace

Result<Forest> Forest::build(std::span<const Tree> trees, int width) {
  Forest forest;
  forest.width_ = width;
  for (std::size_t i = 0; i < trees.size(); ++i)
    LATHE_TRY_STATUS(forest.complete(trees[i], static_cast<int>(i)));
  return forest;
}

Status Forest::complete(const Tree& tree, int index) {
  const int depth = depth_of(tree, 0, kMaxDepth);
  if (depth < 0)
    return fail(ErrorKind::kDataLoss, "tree {} of the cost model is not a tree of depth {} or less",
                index, kMaxDepth);
  const int inner = (1 << depth) - 1;
  const Place place{static_cast<std::uint32_t>(depth), static_cast<std::uint32_t>(nodes_.size()),
                    static_cast<std::uint32_t>(leaves_.size())};
  // The source node for which each position of the perfect tree stands; below a shallow leaf, all
  // positions stand for that leaf.
  std::vector<int> source(static_cast<std::size_t>(2 * inner + 1), 0);
  for (int i = 0; i < inner; ++i) {
    const Tree::Node& n = tree.nodes[source[i]];
    const bool leaf = n.left == -1;
    if (!leaf && (n.feature < 0 || n.feature >= width_))
      return fail(ErrorKind::kDataLoss, "tree {} of the cost model asks for feature {} of {}",
                  index, n.feature, width_);
    source[2 * i + 1] = leaf ? source[i] : n.left;
    source[2 * i + 2] = leaf ? source[i] : n.right;
    nodes_.push_back(leaf ? Node{0, 0} : Node{n.threshold, static_cast<std::uint32_t>(n.feature)});
  }
  for (int i = inner; i < 2 * inner + 1; ++i) leaves_.push_back(tree.nodes[source[i]].value);
  trees_.push_back(place);
  return {};
}

// The steps of kRows rows through a tree are independent, so the processor overlaps their loads.
template <int kRows>
void Forest::predict_block(const float* rows, float* scores) const {
  float sums[kRows] = {};
  const float* row[kRows];
  for (int r = 0; r < kRows; ++r) row[r] = rows + static_cast<std::size_t>(r) * width_;
  for (const Place& tree : trees_) {
    const Node* nodes = nodes_.data() + tree.first_node;
    std::uint32_t at[kRows] = {};
    for (std::uint32_t level = 0; level < tree.depth; ++level) {
      for (int r = 0; r < kRows; ++r) {
        const Node n = nodes[at[r]];
        at[r] = 2 * at[r] + 2 - static_cast<std::uint32_t>(row[r][n.feature] < n.threshold);
      }
    }
    const float* leaves = leaves_.data() + tree.first_leaf;
    const std::uint32_t inner = (1U << tree.depth) - 1;
    for (int r = 0; r < kRows; ++r) sums[r] += leaves[at[r] - inner];
  }
  std::copy_n(sums, kRows, scores);
}

void Forest::predict(std::span<const float> features, std::span<float> scores) const {
  LATHE_CHECK(features.size() == scores.size() * static_cast<std::size_t>(width_));
  constexpr std::size_t kBlock = 16;
  std::size_t row = 0;
  for (; row + kBlock <= scores.size(); row += kBlock)
    predict_block<kBlock>(features.data() + row * static_cast<std::size_t>(width_),
                          scores.data() + row);
  for (; row < scores.size(); ++row)
    predict_block<1>(features.data() + row * static_cast<std::size_t>(width_), scores.data() + row);
}

void Forest::append_to(std::string& bytes) const {
  append_value(bytes, static_cast<std::uint32_t>(width_));
  append_value(bytes, static_cast<std::uint32_t>(trees_.size()));
  for (const Place& tree : trees_) {
    append_value(bytes, tree.depth);
    for (std::uint32_t i = 0; i < (1U << tree.depth) - 1; ++i) {
      append_value(bytes, nodes_[tree.first_node + i].feature);
      append_value(bytes, nodes_[tree.first_node + i].threshold);
    }
    for (std::uint32_t i = 0; i < 1U << tree.depth; ++i)
      append_value(bytes, leaves_[tree.first_leaf + i]);
  }
}

Result<Forest> Forest::read_from(std::string_view& bytes) {
  const auto damaged = [] {
    return fail(ErrorKind::kDataLoss, "the cost model's trees are damaged: train it again");
  };
  std::uint32_t width = 0, count = 0;
  if (!take_value(bytes, width) || !take_value(bytes, count)) return damaged();
  if (width == 0 || width > std::numeric_limits<std::uint16_t>::max()) return damaged();
  Forest forest;
  forest.width_ = static_cast<int>(width);
  for (std::uint32_t t = 0; t < count; ++t) {
    std::uint32_t depth = 0;
    if (!take_value(bytes, depth) || depth > kMaxDepth) return damaged();
    forest.trees_.push_back({depth, static_cast<std::uint32_t>(forest.nodes_.size()),
                             static_cast<std::uint32_t>(forest.leaves_.size())});
    for (std::uint32_t i = 0; i < (1U << depth) - 1; ++i) {
      Node n{};
      if (!take_value(bytes, n.feature) || !take_value(bytes, n.threshold) || n.feature >= width)
        return damaged();
      forest.nodes_.push_back(n);
    }
    for (std::uint32_t i = 0; i < 1U << depth; ++i) {
      float value = 0;
      if (!take_value(bytes, value)) return damaged();
      forest.leaves_.push_back(value);
    }
  }
  return forest;
}

}  // namespace lathe::model
