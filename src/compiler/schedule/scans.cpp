#include "compiler/schedule/scans.h"

#include <algorithm>
#include <vector>

#include "compiler/analysis/scans.h"
#include "compiler/schedule/edit.h"

namespace lathe::schedule {
namespace {

using ir::BlockId;
using ir::LoopId;

bool is_live_scan(const ir::Nest& nest, BlockId id) {
  return static_cast<std::size_t>(id) < nest.blocks.size() && !nest.blocks[id].dead &&
         analysis::is_scan(nest.blocks[id]);
}

// How far from the element that it writes the block reads: each number but 0, in any order.
std::vector<std::int64_t> distances(const ir::Block& block) {
  std::vector<std::int64_t> out;
  for (const ir::Read* read : ir::reads_of(block.body)) {
    if (read->tensor != block.writes) continue;
    for (std::size_t d = 0; d < block.index.size(); ++d) {
      const ir::Affine apart = read->index[d] + block.index[d] * -1;
      if (!apart.terms.empty()) return {};
      if (apart.offset != 0) out.push_back(apart.offset);
    }
  }
  std::ranges::sort(out);
  return out;
}

std::vector<LoopId> scan_loops(const ir::Nest& nest, BlockId id) {
  std::vector<LoopId> loops = nest.loops_around(id);
  std::erase_if(loops, [&](LoopId l) { return !analysis::is_scan_loop(nest.blocks[id], l); });
  return loops;
}

// True if loops that both have come in the same order.
bool same_order(std::vector<LoopId> a, std::vector<LoopId> b) {
  const auto keep_common = [](std::vector<LoopId>& of, const std::vector<LoopId>& with) {
    std::erase_if(of, [&](LoopId l) { return std::ranges::count(with, l) == 0; });
  };
  const std::vector<LoopId> all = a;
  keep_common(a, b), keep_common(b, all);
  return a == b;
}

bool runs_in_order(const ir::Nest& nest, BlockId id, LoopId l) {
  const ir::Loop& loop = nest.loops[l];
  if (loop.kind == ir::LoopKind::kVectorized) return analysis::may_scan_lanes(nest, id, l);
  return (loop.kind == ir::LoopKind::kSerial || loop.kind == ir::LoopKind::kUnrolled) &&
         loop.tail != ir::Tail::kShift && loop.intrinsic == ir::IntrinsicId::kNone;
}

bool is_kept(const ir::Nest& before, const ir::Nest& after, BlockId id) {
  if (!is_live_scan(after, id) || distances(before.blocks[id]) != distances(after.blocks[id]))
    return false;
  const std::vector<LoopId> loops = scan_loops(after, id);
  const ir::Buffer& result = after.buffers[after.blocks[id].writes];
  return same_order(scan_loops(before, id), loops) &&
         std::ranges::all_of(loops, [&](LoopId l) { return runs_in_order(after, id, l); }) &&
         std::ranges::none_of(after.loops_around(id),
                              [&](LoopId l) { return after.loops[l].tail == ir::Tail::kPad; }) &&
         (result.scope == ir::Scope::kMemory || result.scope == ir::Scope::kOutput) &&
         !result.streaming && !analysis::goes_along_scan(after, id, result.at);
}

}  // namespace

StepResult<void> check_scans(const ir::Nest& before, const ir::Nest& after) {
  for (std::size_t b = 0; b < after.blocks.size(); ++b) {
    const auto id = static_cast<BlockId>(b);
    const bool was = is_live_scan(before, id);
    if (was ? !is_kept(before, after, id) : is_live_scan(after, id))
      return refuse(Refusal::kBreaksScan, after.blocks[b].name);
  }
  return {};
}

}  // namespace lathe::schedule
