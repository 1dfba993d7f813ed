#include "compiler/analysis/recurrences.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/scans.h"

namespace lathe::analysis {
namespace {

using ir::BlockId;
using ir::LoopId;

// Calls visit(reader, read, writer) where the writer comes later.
template <class Visit>
void each_read_of_later(const ir::Nest& nest, const Visit& visit) {
  const std::vector<BlockId> order = nest.blocks_in_order();
  std::vector<int> last(nest.buffers.size(), -1);  // writer of each buffer, as a place in the order
  for (std::size_t i = 0; i < order.size(); ++i)
    last[static_cast<std::size_t>(nest.blocks[order[i]].writes)] = static_cast<int>(i);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const ir::Read* read : ir::reads_of(nest.blocks[order[i]].body)) {
      const int writer = last[static_cast<std::size_t>(read->tensor)];
      if (writer > static_cast<int>(i)) visit(order[i], *read, order[writer]);
    }
}

}  // namespace

bool has_recurrence(const ir::Nest& nest) {
  bool found = false;
  each_read_of_later(nest, [&](BlockId, const ir::Read&, BlockId) { found = true; });
  return found;
}

std::vector<LoopId> step_loops(const ir::Nest& nest) {
  std::vector<LoopId> out;
  each_read_of_later(nest, [&](BlockId reader, const ir::Read& read, BlockId id) {
    const ir::Block& writer = nest.blocks[id];
    const std::vector<LoopId> around = nest.loops_around(reader);
    for (std::size_t d = 0; d < writer.index.size(); ++d) {
      if (writer.index[d].offset == read.index[d].offset) continue;
      for (const ir::AffineTerm& term : writer.index[d].terms)
        for (const ir::LoopDigit& digit : writer.iters[static_cast<std::size_t>(term.iter)].digits)
          if (std::ranges::count(around, digit.loop) > 0 &&
              std::ranges::count(out, digit.loop) == 0)
            out.push_back(digit.loop);
    }
  });
  return out;
}

bool is_in_steps(const ir::Nest& nest, BlockId block) {
  return std::ranges::any_of(step_loops(nest), [&](LoopId loop) {
    return nest.is_inside({ir::Item::Kind::kBlock, block}, loop);
  });
}

bool goes_along_axis(const ir::Nest& nest, BlockId id) {
  if (!is_in_steps(nest, id)) return is_scan(nest.blocks[id]);
  const LoopId parent = nest.blocks[id].parent;
  return std::ranges::count(nest.children(parent), ir::Item::Kind::kBlock, &ir::Item::kind) > 1;
}

}  // namespace lathe::analysis
