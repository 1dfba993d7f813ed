// Finds intermediate results that may lie where an output will: a softmax writes its exponentials
// into the output and divides them there. So less memory is touched, and the output's lines arrive
// while the exponentials are computed.
#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/lower/expand/planner.h"

namespace lathe::lower {
namespace {

bool is_plain_iterator(const ir::Affine& row) {
  return row.offset == 0 && row.terms.size() == 1 && row.terms[0].coef == 1;
}

bool same_digit(const LoopDigit& a, const LoopDigit& b) {
  return a.loop == b.loop && a.weight == b.weight && a.div == b.div && a.mod == b.mod;
}

}  // namespace

std::vector<BlockId> Planner::readers_of(BufferId id) const {
  std::vector<BlockId> out;
  for (BlockId b = 0; b < static_cast<BlockId>(plan_.blocks.size()); ++b) {
    if (nest_.blocks[b].dead) continue;
    const auto reads = ir::tensors_of(nest_.blocks[b].body);
    if (std::ranges::find(reads, id) != reads.end()) out.push_back(b);
  }
  return out;
}

// The block that alone writes the buffer.
std::optional<BlockId> Planner::only_writer_of(BufferId id) const {
  std::optional<BlockId> found;
  for (BlockId b = 0; b < static_cast<BlockId>(plan_.blocks.size()); ++b) {
    if (nest_.blocks[b].dead || nest_.blocks[b].writes != id) continue;
    if (found) return std::nullopt;
    found = b;
  }
  return found;
}

// True if each element is written once, by the iteration that has its coordinates: a second one
// would read what the first has left.
bool Planner::writes_once(BlockId id) const {
  const ir::Block& block = nest_.blocks[id];
  const BlockPlan& plan = plan_.blocks[id];
  if (block.reduce != ir::ReduceOp::kNone || !plan.live || !plan.only_in_last.empty()) return false;
  if (!std::ranges::all_of(block.index, is_plain_iterator)) return false;
  for (const LoopId loop : plan.path)
    if (nest_.loops[loop].tail == ir::Tail::kShift) return false;
  std::vector<LoopId> driving;
  std::size_t coordinates = 0;
  for (const Iter& iter : plan.iters) {
    if (iter.guard) continue;
    ++coordinates;
    std::vector<LoopDigit> digits = iter.digits;
    std::ranges::sort(digits, {}, &LoopDigit::weight);
    std::int64_t below = 0;  // the largest sum of the digits before
    for (const LoopDigit& digit : digits) {
      const Range range = plan_.free_range(digit);
      if (iter.offset != 0 || range.min < 0 || (range.max > 0 && digit.weight <= below))
        return false;
      below += range.max;
      driving.push_back(digit.loop);
    }
  }
  return coordinates == block.index.size() && std::ranges::all_of(plan.path, [&](LoopId loop) {
           return sized_.extent(loop) == 1 || std::ranges::count(driving, loop) > 0;
         });
}

// True if `block` overwrites all that an iteration of the buffer's loop holds of it.
bool Planner::covers(BlockId block, BufferId id) const {
  const Storage& storage = plan_.storage[id];
  const LoopId at = nest_.buffers[id].at;
  for (std::size_t d = 0; d < storage.start.size(); ++d) {
    const Iter& iter = plan_.blocks[block].iters[nest_.blocks[block].index[d].terms[0].iter];
    const Storage::Start& start = storage.start[d];
    std::int64_t span = 1;
    std::size_t outer = 0;
    for (const LoopDigit& digit : iter.digits) {
      if (plan_.inside(digit.loop, at)) {
        span += plan_.free_range(digit).max;
        continue;
      }
      const auto same = [&](const LoopDigit& other) { return same_digit(digit, other); };
      if (std::ranges::none_of(start.digits, same)) return false;
      ++outer;
    }
    if (start.offset != 0 || outer != start.digits.size() || storage.extent[d] > span) return false;
  }
  return true;
}

// True if `last` runs after all others that touch the buffer, in every iteration of its loop.
bool Planner::runs_last(BlockId last, BufferId id, const std::vector<BlockId>& others) const {
  const std::vector<ir::Item>& items = nest_.children(nest_.buffers[id].at);
  const auto place = [&](BlockId block) {
    return std::ranges::find_if(items, [&](const ir::Item& item) {
      return item.kind == ir::Item::Kind::kBlock
                 ? item.id == block
                 : nest_.is_inside({ir::Item::Kind::kBlock, block}, item.id);
    });
  };
  const auto end = place(last);
  return end != items.end() &&
         std::ranges::all_of(others, [&](BlockId other) { return place(other) < end; });
}

// True if the memory of the block's output may hold something else until the block has run.
bool Planner::fills_output(BlockId last) const {
  const ir::Block& block = nest_.blocks[last];
  const ir::Buffer& output = nest_.buffers[block.writes];
  return !block.dead && output.scope == ir::Scope::kOutput && !output.streaming &&
         output.layout.empty() && writes_once(last) && only_writer_of(block.writes) == last &&
         readers_of(block.writes).empty();
}

// True if the intermediate result may lie in the output that `last` fills from it.
bool Planner::may_lie_in_output(BufferId id, BlockId last) const {
  const ir::Block& block = nest_.blocks[last];
  const ir::Buffer &buffer = nest_.buffers[id], &output = nest_.buffers[block.writes];
  if (buffer.scope != ir::Scope::kMemory || buffer.cache_of >= 0 || !buffer.layout.empty() ||
      buffer.pad_stride != 0 || plan_.prepared[id] != 0 || buffer.dtype != output.dtype)
    return false;
  // Items that have no part of the output compute theirs, too.
  if (buffer.at != ir::kRoot && plan_.items_meet_in(nest_.path_to(buffer.at).front())) return false;
  const auto same_size = [&](ir::SizeId a, ir::SizeId b) { return sized_[a] == sized_[b]; };
  if (!std::ranges::equal(buffer.shape, output.shape, same_size)) return false;
  const auto elsewhere = [&](const ir::Read* read) {
    return read->tensor == id && (read->index != block.index || read->pad);
  };
  if (std::ranges::any_of(ir::reads_of(block.body), elsewhere)) return false;
  if (ir::looks_up(block.body, id)) return false;
  const auto writer = only_writer_of(id);
  if (!writer || nest_.blocks[*writer].reduce != ir::ReduceOp::kNone ||
      !std::ranges::all_of(nest_.blocks[*writer].index, is_plain_iterator) || !covers(last, id))
    return false;
  std::vector<BlockId> others = readers_of(id);
  std::erase(others, last);
  others.push_back(*writer);
  return runs_last(last, id, others);
}

// Each output takes one at most.
void Planner::share_outputs() {
  plan_.lies_in.assign(nest_.buffers.size(), -1);
  for (BlockId last = 0; last < static_cast<BlockId>(plan_.blocks.size()); ++last) {
    if (!fills_output(last)) continue;
    const auto reads = ir::reads_of(nest_.blocks[last].body);
    const auto found = std::ranges::find_if(
        reads, [&](const ir::Read* read) { return may_lie_in_output(read->tensor, last); });
    if (found == reads.end()) continue;
    plan_.lies_in[(*found)->tensor] = nest_.blocks[last].writes;
    plan_.storage[(*found)->tensor] = plan_.storage[nest_.blocks[last].writes];
  }
}

}  // namespace lathe::lower
