// Kernels on grids: each item at the top of the nest whose loops are bound is a kernel of its own.
#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "compiler/lower/expand/barriers.h"
#include "compiler/lower/expand/emitter.h"

namespace lathe::lower {
namespace {

bool is_bound(const ir::Loop& loop) { return loop.kind >= ir::LoopKind::kBlockX; }

flat::Axis& axis_of(flat::Grid& grid, ir::LoopKind kind) {
  const auto number =
      static_cast<std::size_t>(kind) - static_cast<std::size_t>(ir::LoopKind::kBlockX);
  constexpr std::size_t kDirections = 3;
  return number < kDirections ? grid.groups[number] : grid.items[number - kDirections];
}

// A kernel that is being made.
struct KernelPart {
  bool prepared, bound;
  flat::Grid grid;
  std::vector<flat::Stmt> stmts;
};

void add_kernels(flat::Program& program, std::vector<KernelPart>& parts, bool prepared) {
  const auto own = [&](const KernelPart& p) { return p.prepared == prepared; };
  const bool alone = std::ranges::count_if(parts, own) == 1;
  std::vector<int>& sequence = prepared ? program.prepare : program.run;
  for (KernelPart& part : parts) {
    if (!own(part)) continue;
    const char* name = prepared ? "prepare" : "run";
    const int number = static_cast<int>(sequence.size());
    sequence.push_back(static_cast<int>(program.kernels.size()));
    program.kernels.push_back({.name = alone ? name : fmt::format("{}{}", name, number),
                               .body = flat::seq(std::move(part.stmts)),
                               .grid = part.grid});
  }
}

}  // namespace

// Those inside an item at the top of the nest.
std::vector<LoopId> Emitter::bound_loops_of(const ir::Item& item) const {
  std::vector<LoopId> loops;
  const auto blocks = plan_.blocks_of(item);
  for (const BlockId id : blocks)
    for (const LoopId l : plan_.blocks[id].path) {
      if (nest_.loops[l].kind == ir::LoopKind::kParallel && sized_.extent(l) > 1)
        refuse(ErrorKind::kUnsupported,
               "loop {} is parallel, which is for processors; bind it to blockIdx.x or threadIdx.x",
               nest_.loops[l].name);
      if (is_bound(nest_.loops[l]) && sized_.extent(l) > 1 && std::ranges::count(loops, l) == 0)
        loops.push_back(l);
    }
  if (loops.empty()) return loops;
  const bool meet = std::ranges::any_of(blocks, [&](BlockId id) {
    return plan_.is_of_group(nest_.blocks[id].writes) || plan_.is_spread(nest_.blocks[id].writes);
  });
  if (meet) check_group(blocks, loops);
  else check_all_hold(blocks, loops);
  for (const BlockId id : blocks) check_writes(id, meet ? plan_.bound_over(id) : loops);
  return loops;
}

// Where work items do not wait for each other, each has to do all the work of its points: every
// block is inside all bound loops.
void Emitter::check_all_hold(const std::vector<BlockId>& blocks,
                             const std::vector<LoopId>& loops) const {
  for (const BlockId id : blocks)
    for (const LoopId l : loops)
      if (std::ranges::count(plan_.blocks[id].path, l) == 0)
        refuse(ErrorKind::kUnsupported,
               "block {} is not inside loop {}, which is bound to {}: bind loops that hold all "
               "blocks of their part of the program, for work items do not wait for each other",
               nest_.blocks[id].name, nest_.loops[l].name, ir::name_of(nest_.loops[l].kind));
}

namespace {

// What a digit adds to a coordinate of storage.
struct Stride {
  LoopId loop;
  std::int64_t weight, span;
};

// The strides of one dimension of what a block writes, the smallest first. Memory of a group begins
// anew in each iteration of its loop.
std::vector<Stride> strides_of(const Plan& plan, BlockId id, const ir::Affine& row) {
  const BufferId written = plan.nest.blocks[id].writes;
  std::vector<Stride> out;
  for (const auto& [iter, coef] : row.terms)
    for (const LoopDigit& digit : plan.blocks[id].iters[iter].digits) {
      if (plan.is_of_group(written) && !plan.inside(digit.loop, plan.nest.buffers[written].at))
        continue;
      const Range range = plan.free_range(digit);
      out.push_back(
          {digit.loop, std::abs(coef * digit.weight), std::abs(coef) * (range.max - range.min)});
    }
  std::erase_if(out, [](const Stride& s) { return s.span == 0; });
  std::ranges::sort(out, {}, &Stride::weight);
  return out;
}

// True if the iterator's value is the sum of these strides, but for a factor: smaller ones first.
bool is_sum_of(const Plan& plan, const Iter& iter, std::span<const Stride> strides) {
  std::vector<LoopDigit> moving;  // digits that have more than one value
  for (const LoopDigit& digit : iter.digits)
    if (const Range range = plan.free_range(digit); range.max != range.min) moving.push_back(digit);
  std::ranges::sort(moving, {}, &LoopDigit::weight);
  if (moving.size() != strides.size() || moving.empty() || moving.front().weight <= 0) return false;
  const std::int64_t least = moving.front().weight;
  return std::ranges::all_of(moving, [&](const LoopDigit& digit) {
    const auto found = std::ranges::find(strides, digit.loop, &Stride::loop);
    return found != strides.end() && found->weight * least == digit.weight * strides.front().weight;
  });
}

// An iterator of exactly these loops, as a guard, keeps their sum below its extent.
std::int64_t guarded(const Plan& plan, const BlockPlan& block, std::span<const Stride> strides,
                     std::int64_t span) {
  for (const Iter& iter : block.iters)
    if (is_sum_of(plan, iter, strides))
      span = std::min(span, (iter.extent - 1) * strides.front().weight /
                                std::ranges::min(iter.digits, {}, &LoopDigit::weight).weight);
  return span;
}

// True if different iterations of the bound loops write different coordinates: no digit of one of
// them reaches as far as the next larger one.
bool writes_apart(const Plan& plan, const BlockPlan& block, const std::vector<Stride>& strides,
                  const std::vector<LoopId>& bound) {
  std::int64_t below = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const auto here = std::span(strides).first(i + 1);
    const bool concerned = std::ranges::any_of(
        here, [&](const Stride& s) { return std::ranges::count(bound, s.loop) > 0; });
    if (concerned && strides[i].weight <= below) return false;
    below = guarded(plan, block, here, below + strides[i].span);
  }
  return true;
}

// True if what the block writes tells the iterations of the loop apart: the digits of it that occur
// there make up the whole of it.
bool tells_iterations(const Plan& plan, BlockId id, LoopId loop) {
  std::vector<LoopDigit> digits;
  for (const ir::Affine& row : plan.nest.blocks[id].index)
    for (const auto& [iter, coef] : row.terms)
      for (const LoopDigit& digit : plan.blocks[id].iters[iter].digits)
        if (digit.loop == loop && coef * digit.weight != 0) digits.push_back(digit);
  std::ranges::sort(digits, {}, &LoopDigit::div);
  std::int64_t told = 1;  // of the remainders by so much
  for (const LoopDigit& digit : digits) {
    if (digit.div > told) return false;
    told = std::max(told, digit.mod == 0 ? plan.sized.extent(loop) : digit.div * digit.mod);
  }
  return told >= plan.sized.extent(loop);
}

}  // namespace

// Steps let a loop repeat what another iteration writes alike; at the same time they must not.
void Emitter::check_writes(BlockId id, const std::vector<LoopId>& around) const {
  const ir::Block& block = nest_.blocks[id];
  if (!plan_.blocks[id].live || is_private(block.writes)) return;
  // Memory of a group is another one in each iteration of the loop where it lives.
  std::vector<LoopId> bound = around;
  if (plan_.is_of_group(block.writes))
    std::erase_if(bound,
                  [&](LoopId l) { return !plan_.inside(l, nest_.buffers[block.writes].at); });
  const bool told =
      std::ranges::all_of(bound, [&](LoopId loop) { return tells_iterations(plan_, id, loop); });
  const bool apart = std::ranges::all_of(block.index, [&](const ir::Affine& row) {
    return writes_apart(plan_, plan_.blocks[id], strides_of(plan_, id, row), bound);
  });
  if (told && apart) return;
  refuse(ErrorKind::kUnsupported,
         "block {} writes elements of {} several times in loops that are bound: bind others",
         block.name, nest_.buffers[block.writes].name);
}

flat::Grid Emitter::grid_of(const std::vector<LoopId>& loops) {
  flat::Grid grid;
  std::int64_t items = 1;
  for (const LoopId l : loops) {
    if (nest_.loops[l].kind == ir::LoopKind::kItems) continue;
    const std::int64_t count = sized_.extent(l);
    flat::Axis& axis = axis_of(grid, nest_.loops[l].kind);
    if (axis.var < 0) axis.var = new_var(nest_.loops[l].name, {0, count - 1});
    axis.count = std::max(axis.count, count);
    place_.ranges[axis.var].max = axis.count - 1;
    shared_[l] = axis.var;
  }
  if (!loops.empty() && plan_.items_exchange_in(nest_.path_to(loops[0]).front())) fill_warps(grid);
  for (const flat::Axis& axis : grid.items) items *= axis.count;
  if (items > plan_.grids->most_items)
    refuse(ErrorKind::kIllegalSchedule,
           "the loops bound to threadIdx make groups of {} work items; the device takes {}", items,
           plan_.grids->most_items);
  return grid;
}

flat::Program Emitter::run_on_grids() {
  std::vector<KernelPart> parts;
  for (const ir::Item& item : nest_.root) {
    const bool prepared = std::ranges::all_of(plan_.blocks_of(item), [&](BlockId id) {
      return plan_.prepared[nest_.blocks[id].writes] != 0;
    });
    const std::vector<LoopId> bound = bound_loops_of(item);
    // What is not bound joins the kernel of one point before it.
    const auto last = std::ranges::find_if(
        parts.rbegin(), parts.rend(), [&](const KernelPart& p) { return p.prepared == prepared; });
    if (!bound.empty() || last == parts.rend() || last->bound) {
      parts.push_back({prepared, !bound.empty(), grid_of(bound), {}});
      code_.out = &parts.back().stmts;
    } else {
      code_.out = &last->stmts;
    }
    grid_ = bound.empty() ? flat::Grid{} : parts.back().grid;
    find_idle_axes(item, grid_);
    emit_items({item});
    if (grid_.has_items()) place_barriers(code_, grid_, parts.back().stmts);
  }
  if (std::ranges::all_of(parts, &KernelPart::prepared)) parts.push_back({false, false, {}, {}});
  add_kernels(code_.program, parts, true);
  add_kernels(code_.program, parts, false);
  return std::move(code_.program);
}

// The loop's variable is an index of the grid. Its iterations cannot be cut apart: where a tail or
// padding makes some of them differ, one test further inside finds those that need no guards.
void Emitter::emit_bound(LoopId loop) {
  if (sized_.extent(loop) == 1)
    return emit_static_iteration(loop, 0, parts_.pending_at(loop, 1, 0));
  if (nest_.loops[loop].kind == ir::LoopKind::kItems) return emit_in_turns(loop);
  const std::int64_t count = sized_.extent(loop);
  if (place_.ranges[shared_[loop]].max < count) return emit_bound_to(loop, shared_[loop]);
  // Other loops share the axis and have more iterations. Where items meet inside, all of them come
  // in, and the test is made further inside.
  const int own = new_var(nest_.loops[loop].name, {0, count - 1});
  const flat::Expr inside =
      flat::binary(flat::BinaryOp::kLt, flat::var(shared_[loop]), flat::int_imm(count));
  const bool meet = plan_.items_meet_in(loop);
  if (meet) put_off_.push_back({loop, inside});
  flat::Stmt body = code_.capture([&] {
    code_.out->push_back(flat::let(own, flat::var(shared_[loop])));
    emit_bound_to(loop, own);
  });
  if (meet) put_off_.pop_back();
  code_.out->push_back(meet ? body : flat::if_then(inside, body));
}

void Emitter::emit_bound_to(LoopId loop, int var) {
  place_.bound[loop] = {Binding::Kind::kDynamic, 0, 0, 1, var, {}};
  derive_digits(loop);
  emit_bound_digit(loop, 0);
  place_.bound[loop] = {};
}

void Emitter::emit_bound_digit(LoopId loop, std::size_t digit) {
  const auto digits = plan_.fused_digits(loop);
  if (digit == digits.size()) return emit_body_in_domain(loop);
  const auto [div, mod] = digits[digit];
  const auto wanted = parts_.wanted(loop, div, mod, parts_.pending_at(loop, div, mod));
  // Its ends may be edges; what is between them is taken to be none.
  const std::vector<Part> interior = {{0, 1, false}};
  emit_whole(interior, wanted, [&] { emit_bound_digit(loop, digit + 1); });
}

// Emits the body for the points at which it does something: a condition that no loop inside adds to
// is asked once, before everything. Registers that outlive the body get values at all points, and
// items exchange theirs at all of them.
void Emitter::emit_body_in_domain(LoopId loop) {
  std::vector<BlockConstraint> decided, proven;
  const auto blocks = place_.blocks_in_view(loop);
  const bool may_decide = blocks.size() == 1 && !plan_.items_exchange_in(loop);
  for (const auto& [div, mod] : plan_.fused_digits(loop))
    for (const Pending& p : parts_.pending_at(loop, div, mod))
      if (may_decide && !p.inner && !plan_.is_of_lanes(nest_.blocks[p.block].writes) &&
          place_.may_skip(p.block, plan_.blocks[p.block].constraints[p.constraint], loop) &&
          std::ranges::count(decided, BlockConstraint{p.block, p.constraint}) == 0)
        decided.emplace_back(p.block, p.constraint);
  const flat::Expr test = parts_.test_of(decided, proven);
  if (!test) return emit_body(loop);
  for (const auto& [block, k] : proven) place_.proven[block][k] = 1;
  flat::Stmt body = code_.capture([&] { emit_body(loop); });
  for (const auto& [block, k] : proven) place_.proven[block][k] = 0;
  code_.out->push_back(flat::if_then(test, std::move(body)));
}

}  // namespace lathe::lower
