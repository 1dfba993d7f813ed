#include "tuner/feature/tree.h"

#include <algorithm>

#include "base/hash.h"

namespace lathe::feature {

float variable_code(std::string_view name) {
  constexpr std::uint64_t kExact = (1U << 24) - 1;
  return static_cast<float>(1 + hash_of(name) % kExact);
}

TreePlan::TreePlan(const ir::Nest& nest) {
  const ir::BlockId main = analysis::main_block(nest);
  if (main < 0) return;
  blocks_.emplace_back(nest, main);
  for (const ir::BlockId block : nest.blocks_in_order())
    if (block != main && !nest.buffers[nest.blocks[block].writes].constant)
      blocks_.emplace_back(nest, block);
  add_loops(nest, ir::kRoot, -1);
}

// Adds the loops below `around`, whose own position is `parent`.
void TreePlan::add_loops(const ir::Nest& nest, ir::LoopId around, int parent) {
  for (const ir::Item& item : nest.children(around)) {
    if (item.kind != ir::Item::Kind::kLoop) continue;
    int inside = parent;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const auto& chain = blocks_[b].chain();
      const auto at = std::ranges::find(chain, item.id);
      if (at == chain.end()) continue;
      const ir::Loop& loop = nest.loops[item.id];
      inside = static_cast<int>(loops_.size());
      const bool streams =
          at == chain.begin() && nest.buffers[nest.blocks[blocks_[b].block()].writes].streaming;
      loops_.push_back({parent, static_cast<int>(b), static_cast<int>(at - chain.begin()),
                        loop.extent,
                        variable_code(streams ? loop.name + " streaming" : loop.name)});
      break;
    }
    add_loops(nest, item.id, inside);
  }
}

void TreePlan::row(std::span<const std::int64_t> values, float* out) const {
  std::fill_n(out, tree_width(), 0.0F);
  for (int n = 0; n < kTreeNodes; ++n) out[n * kTreeNodeWidth + kNodeParent] = kNoNode;
  std::vector<analysis::Footprint> footprints(blocks_.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) blocks_[b].evaluate(values, footprints[b]);
  const auto runs_once = [&](const Loop& loop) {
    return values[static_cast<std::size_t>(loop.extent)] == 1;
  };

  int room = kTreeNodes;  // for loops that are not around the main block
  for (const Loop& loop : loops_) room -= loop.block == 0 && !runs_once(loop);
  // In the row; for a loop that is left out, the position of the loop around it.
  std::vector<int> position(loops_.size());
  int nodes = 0;
  for (std::size_t l = 0; l < loops_.size(); ++l) {
    const Loop& loop = loops_[l];
    const int parent = loop.parent < 0 ? static_cast<int>(kAtTop)
                                       : position[static_cast<std::size_t>(loop.parent)];
    position[l] = parent;
    if (runs_once(loop) || (loop.block != 0 && room-- <= 0)) continue;
    float* node = out + nodes * kTreeNodeWidth;
    node[kNodeParent] = static_cast<float>(parent);
    node[kNodeVariable] = loop.variable;
    loop_context(blocks_[static_cast<std::size_t>(loop.block)],
                 footprints[static_cast<std::size_t>(loop.block)], loop.level, node + kNodeContext);
    position[l] = nodes++;
  }
}

int tree_width() { return kTreeNodes * kTreeNodeWidth; }

std::vector<std::string> tree_names() {
  std::vector<std::string> names;
  for (int n = 0; n < kTreeNodes; ++n) {
    names.push_back(fmt::format("node{}.parent", n));
    names.push_back(fmt::format("node{}.variable", n));
    for (const std::string& name : loop_context_names())
      names.push_back(fmt::format("node{}.{}", n, name));
  }
  return names;
}

}  // namespace lathe::feature
