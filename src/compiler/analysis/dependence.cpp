#include "compiler/analysis/dependence.h"

#include <algorithm>

#include "compiler/analysis/scans.h"

namespace lathe::analysis {

using ir::BlockId;
using ir::BufferId;
using ir::Item;
using ir::LoopId;
using ir::Nest;

bool is_strictly_inside(const Nest& nest, LoopId inner, LoopId outer) {
  if (outer == ir::kRoot) return true;
  for (LoopId at = nest.loops[inner].parent; at != ir::kRoot; at = nest.loops[at].parent)
    if (at == outer) return true;
  return false;
}

bool reads(const ir::Block& block, BufferId buffer) {
  const std::vector<int> read = ir::tensors_of(block.body);
  return std::ranges::find(read, buffer) != read.end();
}

bool is_looked_up(const Nest& nest, BufferId buffer, LoopId loop) {
  return std::ranges::any_of(
      nest.blocks_in(loop), [&](BlockId id) { return ir::looks_up(nest.blocks[id].body, buffer); });
}

std::vector<BlockId> readers_of(const Nest& nest, BufferId buffer, LoopId loop) {
  std::vector<BlockId> out = nest.blocks_in(loop);
  std::erase_if(out, [&](BlockId b) { return !reads(nest.blocks[b], buffer); });
  return out;
}

std::vector<BlockId> writers_of(const Nest& nest, BufferId buffer, LoopId loop) {
  std::vector<BlockId> out = nest.blocks_in(loop);
  std::erase_if(out, [&](BlockId b) { return nest.blocks[b].writes != buffer; });
  return out;
}

std::vector<LoopId> item_loops_around(const Nest& nest, LoopId loop) {
  std::vector<LoopId> out = nest.path_to(loop);
  std::erase_if(out, [&](LoopId l) { return !ir::is_of_items(nest.loops[l].kind); });
  return out;
}

bool is_driven_by(const ir::Block& block, LoopId loop) {
  return std::ranges::any_of(block.iters, [&](const ir::BlockIter& iter) {
    return std::ranges::find(iter.digits, loop, &ir::LoopDigit::loop) != iter.digits.end();
  });
}

bool is_driven_by(const ir::Block& block, const ir::Affine& row, LoopId loop) {
  return std::ranges::any_of(row.terms, [&](const ir::AffineTerm& term) {
    const auto& digits = block.iters[static_cast<std::size_t>(term.iter)].digits;
    return std::ranges::find(digits, loop, &ir::LoopDigit::loop) != digits.end();
  });
}

bool is_driven_by(const ir::Block& block, const std::vector<ir::Affine>& index, LoopId loop) {
  return std::ranges::any_of(index,
                             [&](const ir::Affine& row) { return is_driven_by(block, row, loop); });
}

int child_with(const Nest& nest, LoopId loop, BlockId block) {
  const std::vector<Item>& items = nest.children(loop);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool here = items[i].kind == Item::Kind::kBlock
                          ? items[i].id == block
                          : nest.is_inside({Item::Kind::kBlock, block}, items[i].id);
    if (here) return static_cast<int>(i);
  }
  return -1;
}

bool is_partial_at(const Nest& nest, BlockId block, LoopId loop) {
  const std::vector<LoopId> path = nest.path_to(loop);
  return std::ranges::any_of(path, [&](LoopId l) { return nest.is_reduction_loop(block, l); });
}

bool waits_for(const Nest& nest, BlockId block, LoopId loop) {
  return !is_driven_by(nest.blocks[block], loop) && needs_sum_over(nest, block, loop);
}

bool needs_sum_over(const Nest& nest, BlockId block, LoopId loop) {
  std::vector<BlockId> seen, open = {block};
  while (!open.empty()) {
    const BlockId next = open.back();
    open.pop_back();
    for (const BufferId read : ir::tensors_of(nest.blocks[next].body)) {
      for (const BlockId source : writers_of(nest, read, loop)) {
        if (std::ranges::find(seen, source) != seen.end()) continue;
        if (nest.is_reduction_loop(source, loop)) return !nest.is_write_back(block);
        seen.push_back(source);
        open.push_back(source);
      }
    }
  }
  return false;
}

std::vector<LoopId> own_loops(const Nest& nest, BlockId block, LoopId keep) {
  std::vector<LoopId> out;
  const std::vector<LoopId> kept = nest.path_to(keep);
  for (LoopId at = nest.blocks[block].parent; at != ir::kRoot; at = nest.loops[at].parent) {
    if (nest.loops[at].body.size() != 1 || std::ranges::find(kept, at) != kept.end()) break;
    out.push_back(at);
  }
  std::ranges::reverse(out);
  return out;
}

bool can_be_placed_anew(const Nest& nest, BlockId id) {
  const ir::Block& block = nest.blocks[id];
  if (is_scan(block)) return false;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    const ir::BlockIter& iter = block.iters[i];
    const bool indexes = std::ranges::any_of(
        block.index, [&](const ir::Affine& row) { return row.coef_of(static_cast<int>(i)) != 0; });
    if (iter.guard || indexes) continue;
    if (iter.kind != ir::IterKind::kReduce ||
        !std::ranges::all_of(iter.digits, [&](const ir::LoopDigit& d) {
          return nest.is_reduction_loop(id, d.loop);
        }))
      return false;
  }
  return true;
}

bool is_in_the_making(const Nest& nest, BufferId buffer, LoopId loop) {
  const std::vector<LoopId> path = nest.path_to(loop);
  return !path.empty() && !writers_of(nest, buffer, path.front()).empty();
}

std::vector<LoopId> resumed_over(const Nest& nest, BufferId buffer) {
  std::vector<LoopId> out;
  const BlockId producer = nest.writer_of(buffer);
  if (producer < 0) return out;
  for (const BlockId writer : writers_of(nest, buffer)) {
    if (!nest.is_write_back(writer)) continue;
    for (const LoopId loop : nest.loops_around(writer))
      if (nest.is_reduction_loop(producer, loop)) out.push_back(loop);
  }
  return out;
}

bool may_repeat(const Nest& nest, LoopId loop) {
  for (const BlockId id : nest.blocks_in(loop)) {
    const ir::Block& block = nest.blocks[id];
    if (block.reduce != ir::ReduceOp::kSum && block.reduce != ir::ReduceOp::kProd) continue;
    if (is_driven_by(block, loop) && is_partial_at(nest, id, loop)) return false;
  }
  return true;
}

}  // namespace lathe::analysis
