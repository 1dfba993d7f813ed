// Blocks that read what later blocks of the same loops have written in iterations before.
#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/recurrences.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/scans.h"

namespace lathe::schedule {
namespace {

using ir::BlockId;
using ir::BufferId;
using ir::LoopId;

// How loops move an index: by coef * weight, where the weight of a number is a part of coef
// (kNone).
struct Moved {
  LoopId loop;
  std::int64_t coef;
  ir::SizeId weight, div, mod;
  auto operator<=>(const Moved&) const = default;
};
struct Place {
  std::vector<Moved> moved;
  std::int64_t start = 0;
  bool is_open = false;  // the start depends on sizes that are open
};

class RecurrenceCheck {
 public:
  explicit RecurrenceCheck(const ir::Nest& nest)
      : nest_(nest),
        order_(nest.blocks_in_order()),
        place_(nest.blocks.size(), -1),
        steps_(analysis::step_loops(nest)) {
    for (std::size_t i = 0; i < order_.size(); ++i)
      place_[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
    writers_.resize(nest.buffers.size());
    for (const BlockId id : order_)
      writers_[static_cast<std::size_t>(block(id).writes)].push_back(id);
  }

  // The first block that would read what is not there yet, or no longer; none: all is well.
  std::optional<BlockId> broken() const {
    for (const BlockId reader : order_) {
      for (const ir::Lookup* lookup : ir::lookups_of(block(reader).body))
        for (const BlockId writer : writers_[static_cast<std::size_t>(lookup->tensor)])
          if (is_later(writer, reader)) return reader;
      for (const ir::Read* read : ir::reads_of(block(reader).body))
        for (const BlockId writer : writers_[static_cast<std::size_t>(read->tensor)])
          if (writer != reader && !is_kept(reader, *read, writer)) return reader;
    }
    return std::nullopt;
  }

 private:
  const ir::Block& block(BlockId id) const { return nest_.blocks[static_cast<std::size_t>(id)]; }
  const ir::Loop& loop(LoopId id) const { return nest_.loops[static_cast<std::size_t>(id)]; }
  bool is_later(BlockId a, BlockId b) const {
    return place_[static_cast<std::size_t>(a)] > place_[static_cast<std::size_t>(b)];
  }

  bool runs_once(LoopId id) const {
    const ir::SizeId extent = loop(id).extent;
    return nest_.sizes.is_constant(extent) && nest_.sizes.constant_value(extent) == 1;
  }

  // How far each iteration of each loop moves the index, and where it starts; what sizes leave open
  // stays as it is written.
  Place place_of(const ir::Block& of, const ir::Affine& row) const {
    Place out{.moved = {}, .start = row.offset};
    for (const ir::AffineTerm& term : row.terms) {
      const ir::BlockIter& iter = of.iters[static_cast<std::size_t>(term.iter)];
      if (iter.offset != ir::SizeId::kNone) {
        if (nest_.sizes.is_constant(iter.offset))
          out.start += term.coef * nest_.sizes.constant_value(iter.offset);
        else out.is_open = true;
      }
      for (const ir::LoopDigit& digit : iter.digits) {
        if (runs_once(digit.loop)) continue;
        Moved one{digit.loop, term.coef, digit.weight, digit.div, digit.mod};
        if (nest_.sizes.is_constant(digit.weight)) {
          one.coef *= nest_.sizes.constant_value(digit.weight);
          one.weight = ir::SizeId::kNone;
        }
        out.moved.push_back(one);
      }
    }
    std::ranges::sort(out.moved);
    return out;
  }

  // True if no loop moves them, and they differ: what is read is outside of what is written.
  static bool never_meet(const Place& a, const Place& b) {
    return a.moved.empty() && b.moved.empty() && !a.is_open && !b.is_open && a.start != b.start;
  }

  // True if the block adds up over one of the loops: a writer of what it reads, in the same loop,
  // would run before the sum is there.
  bool sums_around(BlockId id, const std::vector<LoopId>& loops) const {
    return std::ranges::any_of(
        loops, [&](LoopId l) { return !runs_once(l) && nest_.is_reduction_loop(id, l); });
  }

  bool is_kept(BlockId reader, const ir::Read& read, BlockId writer) const {
    const bool back = is_later(writer, reader);
    std::vector<LoopId> shared = nest_.loops_around(writer);
    const std::vector<LoopId> others = nest_.loops_around(reader);
    std::erase_if(shared, [&](LoopId l) { return std::ranges::count(others, l) == 0; });
    if (shared.empty()) return !back;
    if (back && sums_around(reader, shared)) return false;
    const ir::Block &from = block(writer), &to = block(reader);
    int axis = -1;
    for (std::size_t d = 0; d < from.index.size(); ++d) {
      const Place written = place_of(from, from.index[d]), seen = place_of(to, read.index[d]);
      if (never_meet(written, seen)) return true;
      if (std::ranges::none_of(written.moved, [&](const Moved& m) {
            return std::ranges::count(shared, m.loop) > 0;
          }))
        continue;
      if (written.moved != seen.moved || written.is_open || seen.is_open) {
        if (back || (is_of_steps(written.moved) && !is_whole(from.writes, written.moved)))
          return false;
        continue;
      }
      if (written.start == seen.start) continue;
      if (axis >= 0) return false;
      axis = static_cast<int>(d);
    }
    if (axis < 0) return !back;
    return is_kept_along(axis, reader, read, writer);
  }

  bool is_kept_along(int axis, BlockId reader, const ir::Read& read, BlockId writer) const {
    const auto d = static_cast<std::size_t>(axis);
    const ir::Block& from = block(writer);
    const Place written = place_of(from, from.index[d]);
    const std::int64_t apart = place_of(block(reader), read.index[d]).start - written.start;
    return runs_in_order(from, from.index[d], apart) && is_whole(from.writes, written.moved) &&
           is_unpadded(writer) && is_unpadded(reader);
  }

  bool is_of_steps(const std::vector<Moved>& written) const {
    return std::ranges::any_of(
        written, [&](const Moved& m) { return std::ranges::count(steps_, m.loop) > 0; });
  }

  // True if the elements that lie so far from the one that is written are written before it.
  bool runs_in_order(const ir::Block& of, const ir::Affine& row, std::int64_t apart) const {
    if (row.terms.size() != 1) return false;
    std::size_t depth = 0;
    for (const ir::LoopDigit& digit :
         of.iters[static_cast<std::size_t>(row.terms[0].iter)].digits) {
      if (runs_once(digit.loop)) continue;
      const ir::Loop& l = loop(digit.loop);
      const std::size_t here = nest_.path_to(digit.loop).size();
      const bool forward = (row.terms[0].coef > 0) != nest_.sizes.is_negative(digit.weight);
      if (forward == (apart > 0) || here <= depth || digit.div != ir::SizeId::kNone ||
          digit.mod != ir::SizeId::kNone ||
          (l.kind != ir::LoopKind::kSerial && l.kind != ir::LoopKind::kUnrolled) ||
          l.tail == ir::Tail::kShift || l.intrinsic != ir::IntrinsicId::kNone)
        return false;
      depth = here;
    }
    return true;
  }

  // True if the buffer has all elements while these loops run.
  bool is_whole(BufferId id, const std::vector<Moved>& along) const {
    const ir::Buffer& buffer = nest_.buffers[static_cast<std::size_t>(id)];
    return (buffer.scope == ir::Scope::kMemory || buffer.scope == ir::Scope::kOutput) &&
           !buffer.streaming && std::ranges::all_of(along, [&](const Moved& m) {
             return m.loop != buffer.at && analysis::is_strictly_inside(nest_, m.loop, buffer.at);
           });
  }
  bool is_unpadded(BlockId id) const {
    return std::ranges::none_of(nest_.loops_around(id),
                                [&](LoopId l) { return loop(l).tail == ir::Tail::kPad; });
  }

  const ir::Nest& nest_;
  std::vector<BlockId> order_;
  std::vector<int> place_;  // by block: its place in the order
  std::vector<LoopId> steps_;
  std::vector<std::vector<BlockId>> writers_;  // by buffer
};

}  // namespace

StepResult<void> check_recurrences(const ir::Nest& before, const ir::Nest& after) {
  if (!analysis::has_recurrence(before)) return {};
  if (const auto broken = RecurrenceCheck(after).broken())
    return refuse(Refusal::kBreaksScan, after.blocks[static_cast<std::size_t>(*broken)].name);
  return {};
}

}  // namespace lathe::schedule
