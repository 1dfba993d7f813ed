// What the items of a group do together: memory of the group that they fill, loops in which they
// take turns, and work that one of them does for all.
#include <algorithm>
#include <utility>

#include "compiler/lower/expand/emitter.h"
#include "compiler/lower/expand/lanes.h"

namespace lathe::lower {
namespace {

// As many turns of a loop of items are written out: their loads then go out together. Copies that
// are asynchronous need no registers for what they carry, but keep where they read.
constexpr std::int64_t kTurnsWrittenOut = 8, kCopiesWrittenOut = 24;

constexpr unsigned kAxes = 3;

bool holds(const std::vector<LoopId>& loops, LoopId loop) {
  return std::ranges::find(loops, loop) != loops.end();
}

}  // namespace

// Each work item has its own.
bool Emitter::is_private(BufferId buffer) const {
  return plan_.storage[buffer].is_register ||
         (plan_.in_parallel(nest_.buffers[buffer].at) && !plan_.is_of_group(buffer));
}

void Emitter::check_group(const std::vector<BlockId>& blocks,
                          const std::vector<LoopId>& loops) const {
  for (const BlockId id : blocks) {
    const BufferId written = nest_.blocks[id].writes;
    for (const LoopId l : loops) {
      const ir::Loop& loop = nest_.loops[l];
      if (ir::is_of_items(loop.kind)) continue;
      if (!holds(plan_.blocks[id].path, l))
        refuse(ErrorKind::kUnsupported,
               "block {} is not inside loop {}, which is bound to {}: groups do not wait for each "
               "other, so bind loops that hold all blocks of their part of the program",
               nest_.blocks[id].name, loop.name, ir::name_of(loop.kind));
      if (plan_.is_of_group(written) && nest_.buffers[written].at != l &&
          !plan_.inside(nest_.buffers[written].at, l))
        refuse(ErrorKind::kIllegalSchedule,
               "buffer {} is in the memory of a group, but lives outside of loop {}, which makes "
               "groups: keep it for one iteration of a loop inside",
               nest_.buffers[written].name, loop.name);
    }
    if (plan_.is_of_group(written)) check_filled(id);
    for (const BlockId reader : blocks)
      if (reader != id) check_reader(id, reader, loops);
  }
}

// Memory of a group is filled for all items, so what it holds, and what is read for it, must be the
// same whichever item asks.
void Emitter::check_filled(BlockId id) const {
  const ir::Block& block = nest_.blocks[id];
  const BlockPlan& plan = plan_.blocks[id];
  const auto is_of_one = [&](LoopId l) {
    return ir::is_of_items(nest_.loops[l].kind) && sized_.extent(l) > 1 && holds(plan.path, l) &&
           !holds(plan_.bound_over(id), l);
  };
  const auto check = [&](const std::vector<LoopDigit>& digits, const std::string& what) {
    for (const LoopDigit& digit : digits)
      if (is_of_one(digit.loop))
        refuse(
            ErrorKind::kIllegalSchedule,
            "block {} fills memory of a group for all items, but {} depends on loop {}, which is "
            "bound to {}",
            block.name, what, nest_.loops[digit.loop].name,
            ir::name_of(nest_.loops[digit.loop].kind));
  };
  for (const Iter& iter : plan.iters) check(iter.digits, "what it computes");
  for (const BufferId read : ir::tensors_of(block.body))
    if (!plan_.is_of_group(read))
      for (const Storage::Start& start : plan_.storage[read].start)
        check(start.digits, nest_.buffers[read].name);
}

// What an item keeps for itself, or leaves in memory that all groups see, it must read itself:
// items meet for memory of the group alone.
void Emitter::check_reader(BlockId writer, BlockId reader, const std::vector<LoopId>& loops) const {
  const BufferId buffer = nest_.blocks[writer].writes;
  if (plan_.is_of_group(buffer) || !plan_.blocks[writer].live || !plan_.blocks[reader].live) return;
  const auto reads = ir::tensors_of(nest_.blocks[reader].body);
  const bool resumes = !plan_.blocks[reader].resumed_over.empty() &&
                       plan_.is_cache_of(nest_.blocks[reader].writes, buffer);
  if (!resumes && std::ranges::find(reads, buffer) == reads.end()) return;
  if (plan_.is_spread(buffer)) return;  // its own alone, or they exchange it
  std::vector<LoopId> wrote = plan_.bound_over(writer), needs = plan_.bound_over(reader);
  bool same = true;
  if (is_private(buffer)) {
    for (const LoopId l : wrote)
      same = same && (!plan_.inside(l, nest_.buffers[buffer].at) || holds(needs, l));
  } else {
    std::ranges::sort(wrote), std::ranges::sort(needs);
    same = wrote == needs;
    // One item writes what no loop shares out, but each computes what it keeps for itself.
    const auto is_shared_out = [&](LoopId l) {
      return !ir::is_of_items(nest_.loops[l].kind) || std::ranges::any_of(wrote, [&](LoopId own) {
        const ir::LoopKind kind = nest_.loops[own].kind;
        return kind == nest_.loops[l].kind || kind == ir::LoopKind::kItems;
      });
    };
    if (is_private(nest_.blocks[reader].writes))
      same = same && std::ranges::all_of(loops, is_shared_out);
  }
  if (!same)
    refuse(
        ErrorKind::kUnsupported,
        "block {} may need elements of {} that another work item computed: keep it in the memory "
        "of the group",
        nest_.blocks[reader].name, nest_.buffers[buffer].name);
}

// Finds, by block, the axes of items along which no loop shares out what it does: the first item
// does it. What an item keeps for itself, each does.
void Emitter::find_idle_axes(const ir::Item& item, const flat::Grid& grid) {
  idle_axes_.assign(nest_.blocks.size(), 0);
  for (const BlockId id : plan_.blocks_of(item)) {
    if (is_private(nest_.blocks[id].writes)) continue;
    unsigned shared = 0;
    for (const LoopId l : plan_.bound_over(id)) {
      const ir::LoopKind kind = nest_.loops[l].kind;
      if (kind == ir::LoopKind::kItems) shared = ~0U;
      else if (ir::is_of_items(kind))
        shared |=
            1U << (static_cast<unsigned>(kind) - static_cast<unsigned>(ir::LoopKind::kThreadX));
    }
    for (unsigned axis = 0; axis < kAxes; ++axis)
      if (grid.items[axis].count > 1 && (shared >> axis & 1U) == 0) idle_axes_[id] |= 1U << axis;
  }
}

// Of the axes along which only the first item does what these blocks do, here at last: a test for
// that item; null: there are none.
flat::Expr Emitter::test_of_first(const std::vector<BlockId>& blocks) {
  unsigned idle = ~0U;
  for (const BlockId id : blocks) idle &= idle_axes_[id];
  idle &= ~first_items_;
  flat::Expr is_first;
  for (unsigned axis = 0; axis < kAxes; ++axis)
    if ((idle >> axis & 1U) != 0)
      is_first = both(is_first, flat::binary(flat::BinaryOp::kEq, flat::var(grid_.items[axis].var),
                                             flat::int_imm(0)));
  first_items_ |= idle;
  return is_first;
}

// Takes out those tests that were put off and that hold for all of these blocks.
flat::Expr Emitter::tests_put_off(const std::vector<BlockId>& blocks) {
  flat::Expr all;
  std::erase_if(put_off_, [&](const PutOff& test) {
    const bool of_all = std::ranges::all_of(
        blocks, [&](BlockId id) { return holds(plan_.bound_over(id), test.loop); });
    if (of_all) all = both(all, test.inside);
    return of_all;
  });
  return all;
}

// Emits what only some items of the group do: false if all do it.
bool Emitter::emit_for_some_items(const ir::Item& item) {
  const bool is_loop = item.kind == ir::Item::Kind::kLoop;
  if (!plan_.grids ||
      (is_loop && (plan_.items_meet_in(item.id) || plan_.items_exchange_in(item.id))))
    return false;
  const auto blocks = is_loop ? place_.blocks_in_view(item.id) : std::vector<BlockId>{item.id};
  if (blocks.empty()) return false;
  const auto put_off = put_off_;
  const unsigned first_items = first_items_;
  const flat::Expr test = both(tests_put_off(blocks), test_of_first(blocks));
  if (!test) return false;
  flat::Stmt body = code_.capture([&] { emit_items({item}); });
  put_off_ = put_off;
  first_items_ = first_items;
  const auto* none = std::get_if<flat::Seq>(&body->value);
  if (none == nullptr || !none->stmts.empty())
    code_.out->push_back(flat::if_then(test, std::move(body)));
  return true;
}

// Of this item in its group: along x first, then y, then z.
flat::Expr Emitter::item_number() const {
  flat::Expr number;
  std::int64_t below = 1;
  for (const flat::Axis& axis : grid_.items) {
    if (axis.var < 0) continue;
    const flat::Expr part =
        flat::binary(flat::BinaryOp::kMul, flat::var(axis.var), flat::int_imm(below));
    number = number ? flat::binary(flat::BinaryOp::kAdd, number, part) : part;
    below *= axis.count;
  }
  return number;
}

// All items of the group take turns at the loop's iterations.
void Emitter::emit_in_turns(LoopId loop) {
  const std::int64_t count = sized_.extent(loop), items = grid_.group_items();
  if (items == 1) return emit_dynamic(loop);
  const std::int64_t turns = count / items, rest = count % items;
  const flat::Expr number = item_number();
  const auto plus = [&](const flat::Expr& begin) {
    return flat::binary(flat::BinaryOp::kAdd, number, begin);
  };
  // What was held is released in the same turns.
  const bool copies = leaf_.copies() || leaf_.filling() == Filling::kReleaseRest;
  if (turns <= (copies ? kCopiesWrittenOut : kTurnsWrittenOut)) {
    for (std::int64_t t = 0; t < turns; ++t)
      emit_turn(loop, plus(flat::int_imm(t * items)), {t * items, (t + 1) * items - 1});
  } else {
    const int turn = new_var(nest_.loops[loop].name + ".turn", {0, turns - 1});
    flat::Stmt body = code_.capture([&] {
      const flat::Expr begin =
          flat::binary(flat::BinaryOp::kMul, flat::var(turn), flat::int_imm(items));
      emit_turn(loop, plus(begin), {0, turns * items - 1});
    });
    code_.out->push_back(
        flat::for_loop(turn, flat::int_imm(0), flat::int_imm(turns), std::move(body)));
  }
  if (rest == 0) return;
  flat::Stmt last = code_.capture(
      [&] { emit_turn(loop, plus(flat::int_imm(turns * items)), {turns * items, count - 1}); });
  code_.out->push_back(flat::if_then(flat::binary(flat::BinaryOp::kLt, number, flat::int_imm(rest)),
                                     std::move(last)));
}

void Emitter::emit_turn(LoopId loop, flat::Expr value, Range range) {
  const int var = new_var(nest_.loops[loop].name, range);
  code_.out->push_back(flat::let(var, std::move(value)));
  emit_bound_to(loop, var);
}

}  // namespace lathe::lower
