#include "tuner/treegru/packed_trees.h"

#include "tuner/feature/tree.h"

namespace lathe::treegru {
namespace {

void add_loop(const Weights& weights, const float* node, int parent, int program, Level& level) {
  level.parent.push_back(parent);
  level.program.push_back(program);
  level.variable.push_back(weights.variable(node[feature::kNodeVariable]));
  for (std::size_t i = 0; i < weights.mean.size(); ++i)
    level.inputs.push_back((node[feature::kNodeContext + i] - weights.mean[i]) * weights.scale[i]);
}

}  // namespace

PackedTrees pack_trees(const Weights& weights, std::span<const float> features) {
  const auto width = static_cast<std::size_t>(feature::tree_width());
  LATHE_CHECK(features.size() % width == 0);
  PackedTrees trees;
  trees.programs = static_cast<int>(features.size() / width);
  for (int program = 0; program < trees.programs; ++program) {
    const float* row = features.data() + static_cast<std::size_t>(program) * width;
    int depth[feature::kTreeNodes], position[feature::kTreeNodes];
    for (int n = 0; n < feature::kTreeNodes; ++n) {
      const float* node = row + n * feature::kTreeNodeWidth;
      if (node[feature::kNodeParent] == feature::kNoNode) break;
      const int parent = static_cast<int>(node[feature::kNodeParent]);
      LATHE_CHECK(parent >= -1 && parent < n, "node {} of row {} has parent {}", n, program,
                  parent);
      depth[n] = parent < 0 ? 0 : depth[parent] + 1;
      if (depth[n] == static_cast<int>(trees.levels.size())) trees.levels.emplace_back();
      Level& level = trees.levels[static_cast<std::size_t>(depth[n])];
      position[n] = level.count();
      add_loop(weights, node, parent < 0 ? program : position[parent], program, level);
    }
  }
  return trees;
}

}  // namespace lathe::treegru
