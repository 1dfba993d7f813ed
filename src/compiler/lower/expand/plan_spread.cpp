// Buffers in registers of a group's items: which elements are whose. Each item reads its own alone,
// wherever it does so in the kernel; sums over a warp's items are exchanged (warps.cpp).
#include <algorithm>
#include <cstdlib>

#include "compiler/lower/expand/planner.h"

namespace lathe::lower {
namespace {

bool is_of_axis(ir::LoopKind kind) { return ir::is_of_items(kind) && kind != ir::LoopKind::kItems; }

// What a block accesses along one dimension, by the loops inside the buffer's.
struct Along {
  std::vector<SpreadDigit> items;                             // loops of items
  std::vector<std::pair<std::int64_t, std::int64_t>> others;  // weight and extent of the others
  bool plain = true;                                          // one iterator, element by element
};

class AccessReader {
 public:
  AccessReader(const Plan& plan, BufferId buffer)
      : plan_(plan), at_(plan.nest.buffers[buffer].at) {}

  Along read(BlockId block, const ir::Affine& row, int dim) const {
    Along out;
    for (const auto& [number, coef] : row.terms) {
      const Iter& iter = plan_.blocks[block].iters[number];
      for (const LoopDigit& digit : iter.digits) {
        const std::int64_t extent = plan_.sized.extent(digit.loop);
        if (extent == 1 || !plan_.inside(digit.loop, at_)) continue;
        const ir::LoopKind kind = plan_.nest.loops[digit.loop].kind;
        const std::int64_t weight = coef * digit.weight;
        if (is_of_axis(kind)) out.items.push_back({dim, kind, weight, extent});
        else out.others.emplace_back(weight, extent);
        out.plain = out.plain && digit.plain() && weight > 0 && kind != ir::LoopKind::kItems;
      }
      out.plain = out.plain && iter.offset == 0;
    }
    out.plain = out.plain && row.terms.size() <= 1;
    return out;
  }

 private:
  const Plan& plan_;
  LoopId at_;
};

bool is_same_place(const SpreadDigit& a, const SpreadDigit& b) {
  return a.dim == b.dim && a.axis == b.axis && a.weight == b.weight;
}

// True if no other loop moves an access into the elements of another item.
bool keeps_to(const SpreadDigit& own, const Along& along) {
  std::int64_t below = 0;
  const auto add = [&](std::int64_t weight, std::int64_t extent) {
    if (weight % (own.weight * own.count) != 0) below += weight * (extent - 1);
  };
  for (const auto& [weight, extent] : along.others) add(weight, extent);
  for (const SpreadDigit& other : along.items)
    if (!is_same_place(other, own)) add(other.weight, other.count);
  return below < own.weight;
}

}  // namespace

// The layout has places for so many items, of which the last may have no elements; 0: it has them
// for as many as there are.
std::int64_t Planner::places_in_layout(BufferId id, const SpreadDigit& own) const {
  std::int64_t above = 0;
  for (const auto& [dim, weight] : nest_.buffers[id].layout)
    if (const std::int64_t w = sized_[weight]; dim == own.dim && w > own.weight)
      above = above == 0 ? w : std::min(above, w);
  return above / own.weight;
}

void Planner::plan_spread() {
  for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
    const ir::Block& block = nest_.blocks[b];
    if (block.dead || !plan_.is_of_lanes(block.writes)) continue;
    const AccessReader access(plan_, block.writes);
    std::vector<SpreadDigit>& spread = plan_.spread[block.writes];
    for (int d = 0; std::cmp_less(d, block.index.size()); ++d) {
      const Along along = access.read(static_cast<BlockId>(b), block.index[d], d);
      for (SpreadDigit own : along.items) {
        own.count = std::max(own.count, places_in_layout(block.writes, own));
        if (std::ranges::find(spread, own) == spread.end()) spread.push_back(own);
        if (!along.plain || !keeps_to(own, along))
          refuse(ErrorKind::kIllegalSchedule,
                 "block {} has elements of {} in registers of several items, but not each its own: "
                 "bind other loops",
                 block.name, nest_.buffers[block.writes].name);
      }
    }
  }
  for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
    if (nest_.blocks[b].dead || !plan_.blocks[b].live) continue;
    for (const ir::Read* read : ir::reads_of(nest_.blocks[b].body))
      if (plan_.is_spread(read->tensor)) check_own(static_cast<BlockId>(b), *read);
    for (const ir::Lookup* lookup : ir::lookups_of(nest_.blocks[b].body))
      if (plan_.storage[lookup->tensor].is_register)
        refuse(ErrorKind::kIllegalSchedule,
               "block {} reads {} at computed places, which registers do not have: keep it in "
               "memory",
               nest_.blocks[b].name, nest_.buffers[lookup->tensor].name);
  }
}

// An item has its own elements alone, but in the sum over a warp's items.
void Planner::check_own(BlockId id, const ir::Read& read) const {
  const AccessReader access(plan_, read.tensor);
  const bool sums =
      nest_.blocks[id].parent != ir::kRoot && plan_.sum_of_lanes(nest_.blocks[id].parent) == id;
  bool own_alone = true;
  for (int d = 0; std::cmp_less(d, read.index.size()); ++d) {
    const Along along = access.read(id, read.index[d], d);
    for (const SpreadDigit& own : plan_.spread[read.tensor]) {
      if (own.dim != d) continue;
      const auto same = [&](const SpreadDigit& other) {
        return is_same_place(own, other) && other.count <= own.count;
      };
      const bool is_own = std::ranges::count_if(along.items, same) == 1 && along.plain &&
                          read.index[d].offset == 0 && keeps_to(own, along);
      own_alone = own_alone && (is_own || (sums && own.axis == ir::LoopKind::kThreadX));
    }
  }
  if (!own_alone)
    refuse(ErrorKind::kUnsupported,
           "block {} may need elements of {} that another work item computed: keep it in the "
           "memory of the group",
           nest_.blocks[id].name, nest_.buffers[read.tensor].name);
}

// What tells items apart tells no registers apart.
void Planner::drop_spread_digits(BufferId id, Storage& storage) const {
  for (const SpreadDigit& own : plan_.spread[id]) {
    const auto found = std::ranges::find_if(storage.digits, [&](const LayoutDigit& digit) {
      const std::int64_t held = storage.extent[digit.dim];
      return digit.dim == own.dim && digit.weight == own.weight &&
             (digit.modulus == own.weight * own.count ||
              (digit.modulus == 0 && held <= own.weight * own.count));
    });
    if (found == storage.digits.end())
      refuse(ErrorKind::kIllegalSchedule,
             "{} is in registers of a group's items, but its layout does not tell them apart: give "
             "dimension {} a digit of weight {}",
             nest_.buffers[id].name, own.dim, own.weight);
    storage.digits.erase(found);
  }
}

}  // namespace lathe::lower
