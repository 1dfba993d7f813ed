// Emits loops: unrolled, vectorized, narrowed to the iterations that matter, or partitioned into
// edges and an interior.
#include <algorithm>
#include <utility>

#include "compiler/lower/expand/expander.h"

namespace lathe::lower {
namespace {

// Lanes. A longer "vectorized" loop stays a loop, unless it indexes registers.
constexpr int kMaxVector = 128;

}  // namespace

int Expander::new_var(const std::string& hint, Range range) {
  program_.vars.push_back(hint);
  ranges_.push_back(range);
  return static_cast<int>(program_.vars.size()) - 1;
}

flat::Stmt Expander::capture(const std::function<void()>& emit) {
  std::vector<flat::Stmt> stmts;
  std::vector<flat::Stmt>* outer = std::exchange(out_, &stmts);
  emit();
  out_ = outer;
  return flat::seq(std::move(stmts));
}

std::vector<BlockId> Expander::blocks_in_view(LoopId loop) const {
  std::vector<BlockId> out;
  for (const BlockId id : blocks_in_[loop])
    if (blocks_[id].live && (!init_of_ || *init_of_ == id)) out.push_back(id);
  return out;
}

void Expander::emit_items(const std::vector<ir::Item>& items) {
  for (const ir::Item& item : items) {
    if (item.kind == ir::Item::Kind::kBlock) emit_block(item.id);
    else emit_loop(item.id);
  }
}

void Expander::emit_loop(LoopId loop) {
  const auto blocks = blocks_in_view(loop);
  const auto none_runs = [&](LoopId at) {
    return std::ranges::all_of(blocks, [&](BlockId id) { return never_runs(id, at); });
  };
  if (none_runs(nest_.loops[loop].parent)) return;
  if (init_of_ && reduces_over(*init_of_, loop)) return emit_items(nest_.loops[loop].body);
  if (!init_of_) emit_inits_before(loop);  // even where padding leaves nothing to add
  if (none_runs(loop)) return;
  const ir::Loop& l = nest_.loops[loop];
  if (!l.intrinsic.empty() && !init_of_) return emit_intrinsic(loop);
  switch (l.kind) {
    case ir::LoopKind::kVectorized:
      if (acts_vectorized(loop)) return emit_vectorized(loop);
      return stays_a_loop(loop) ? emit_dynamic(loop) : emit_unrolled(loop);
    case ir::LoopKind::kUnrolled:
      return not_worth_unrolling(loop) ? emit_dynamic(loop) : emit_unrolled(loop);
    case ir::LoopKind::kSerial:
    case ir::LoopKind::kParallel: return emit_dynamic(loop);
    default:
      refuse(ErrorKind::kUnsupported,
             "loop {} is bound to {}, which only GPU targets have; annotate it parallel", l.name,
             ir::name_of(l.kind));
  }
}

void Expander::emit_inits_before(LoopId loop) {
  for (const BlockId id : blocks_in_[loop]) {
    if (!blocks_[id].live || blocks_[id].init_loop != loop) continue;
    init_of_ = id;
    emit_loop(loop);
    init_of_.reset();
  }
}

bool Expander::acts_vectorized(LoopId loop) const {
  const std::int64_t extent = sized_.extent(loop);
  if (lanes_ > 1 || extent < 2 || extent > kMaxVector || has_fused_digit(loop)) return false;
  return std::ranges::none_of(
      blocks_in_[loop], [&](BlockId id) { return blocks_[id].live && reduces_over(id, loop); });
}

// True if the loop is too long for a vector and for being written out.
bool Expander::stays_a_loop(LoopId loop) const {
  const auto in_registers = [&](BufferId buffer) { return storage_[buffer].is_register; };
  return sized_.extent(loop) > kMaxVector &&
         std::ranges::none_of(blocks_in_view(loop), [&](BlockId id) {
           const ir::Block& block = nest_.blocks[id];
           const auto reads = ir::reads_of(block.body);
           return in_registers(block.writes) ||
                  std::ranges::any_of(
                      reads, [&](const ir::Read* read) { return in_registers(read->tensor); });
         });
}

bool Expander::has_fused_digit(LoopId loop) const {
  const auto digits = fused_digits(loop);
  return std::ranges::any_of(
      digits, [](const auto& d) { return d != std::pair<std::int64_t, std::int64_t>{1, 0}; });
}

std::vector<std::pair<std::int64_t, std::int64_t>> Expander::fused_digits(LoopId loop) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const BlockId id : blocks_in_[loop])
    for (const Iter& iter : blocks_[id].iters)
      for (const Digit& d : iter.digits)
        if (d.loop == loop && std::ranges::count(out, std::pair{d.div, d.mod}) == 0)
          out.emplace_back(d.div, d.mod);
  return out;
}

// At an edge, unrolling a reduction only costs compile time.
bool Expander::not_worth_unrolling(LoopId loop) const {
  const auto blocks = blocks_in_view(loop);
  return borders_ > 0 &&
         std::ranges::all_of(blocks, [&](BlockId id) { return reduces_over(id, loop); });
}

void Expander::emit_unrolled(LoopId loop) {
  const auto pending = pending_at(loop, 1, 0);
  for (std::int64_t v = 0; v < sized_.extent(loop); ++v) emit_static_iteration(loop, v, pending);
}

void Expander::emit_vectorized(LoopId loop) {
  bound_[loop] = {Binding::Kind::kLane};
  lanes_ = static_cast<int>(sized_.extent(loop));
  emit_body(loop);
  lanes_ = 1;
  bound_[loop] = {};
}

// How far the tile that starts at this iteration goes beyond the domain, if it may start earlier
// instead. It may if it is a whole tile of the only block inside, nothing else bounds it, and no
// reduction would be added to twice. 0: cut it off.
std::int64_t Expander::shift_of(LoopId loop, const Pending& p) const {
  const BlockPlan& plan = blocks_[p.block];
  const Constraint& c = plan.constraints[p.constraint];
  if (c.kind != Constraint::Kind::kDomain || !p.inner || p.weight <= 0 ||
      blocks_in_[loop].size() != 1)
    return 0;
  bool shifts = false;
  for (const Digit& d : plan.iters[c.iter].digits) {
    if (!d.plain() || (d.loop != loop && !inside(d.loop, loop))) return 0;
    shifts |= d.loop != loop && nest_.loops[d.loop].tail == ir::Tail::kShift;
  }
  if (plan.init_loop == loop || (plan.init_loop != ir::kRoot && inside(loop, plan.init_loop)))
    return 0;
  for (const LoopId l : plan.path)
    if (reduces_over(p.block, l) && !inside(l, loop)) return 0;
  for (const Iter& iter : plan.iters)
    for (const Digit& d : iter.digits)
      if (iter.guard && (d.loop == loop || inside(d.loop, loop))) return 0;
  const Range r = constraint_range(plan, c);
  const std::int64_t beyond = r.max - c.high + 1;
  const bool whole = r.max - r.min + 1 == p.weight && r.min < c.high && r.min >= beyond;
  return shifts && whole && beyond > 0 ? beyond : 0;
}

// Emits one iteration, with the loop bound to a number.
void Expander::emit_static_iteration(LoopId loop, std::int64_t value,
                                     const std::vector<Pending>& pending) {
  bound_[loop] = {Binding::Kind::kStatic, value};
  for (const Pending& p : pending) {
    const std::int64_t beyond = shift_of(loop, p);
    if (beyond == 0) continue;
    bound_[loop].shift = -beyond;
    bound_[loop].shift_weight = p.weight;
    break;
  }
  const auto blocks = blocks_in_view(loop);
  if (!std::ranges::all_of(blocks, [&](BlockId id) { return never_runs(id, loop); }))
    emit_body(loop);
  bound_[loop] = {};
}

void Expander::emit_body(LoopId loop) {
  const std::size_t before = prefetches_.size();
  for (const auto& [buffer, bytes] : nest_.loops[loop].prefetch)
    if (const std::int64_t ahead = sized_[bytes]; ahead > 0)
      prefetches_.push_back({buffer, ahead / size_of(nest_.buffers[buffer].dtype), {}});
  emit_items(nest_.loops[loop].body);
  prefetches_.resize(before);
}

void Expander::emit_dynamic(LoopId loop) {
  const std::int64_t extent = sized_.extent(loop);
  if (extent == 1) return emit_static_iteration(loop, 0, pending_at(loop, 1, 0));
  const bool parallel =
      nest_.loops[loop].kind == ir::LoopKind::kParallel && !in_parallel(nest_.loops[loop].parent);
  if (parallel || has_fused_digit(loop)) {
    const int var = new_var(nest_.loops[loop].name, {0, extent - 1});
    bound_[loop] = {Binding::Kind::kDynamic, 0, 0, 1, var, {}};
    flat::Stmt body = capture([&] { emit_guarded_body(loop); });
    bound_[loop] = {};
    out_->push_back(flat::for_loop(var, flat::int_imm(0), flat::int_imm(extent),
                                   parallel ? flat::ForKind::kParallel : flat::ForKind::kSerial,
                                   std::move(body)));
    return;
  }
  const auto pending = pending_at(loop, 1, 0);
  Bounds bounds = narrow(loop, pending);
  if (!bounds.dynamic_begin && !bounds.dynamic_end) leave_out_idle(loop, bounds);
  for (const auto& [block, k] : bounds.proven) proven_[block][k] = 1;
  if (bounds.dynamic_begin || bounds.dynamic_end) {
    emit_narrowed(loop, bounds, pending);
  } else {
    std::vector<Pending> wanted;
    for (const Pending& p : pending) {
      const BlockPlan& plan = blocks_[p.block];
      if (proven_[p.block][p.constraint] == 0 &&
          rest_is_static(plan, plan.constraints[p.constraint], loop, 1, 0) &&
          wants_partition(loop, p))
        wanted.push_back(p);
    }
    const auto parts = parts_of(bounds.begin, bounds.end, wanted, [&](std::int64_t v) {
      bound_[loop] = {Binding::Kind::kStatic, v};
    });
    bound_[loop] = {};
    const auto blocks = blocks_in_view(loop);
    const bool interior =
        std::ranges::any_of(parts,
                            [](const Part& p) { return !p.written_out && p.begin < p.end; }) &&
        std::ranges::none_of(blocks, [&](BlockId id) { return reduces_over(id, loop); });
    for (const Part& part : parts) {
      if (part.written_out || part.end - part.begin == 1) {
        const bool border = part.written_out && interior;
        borders_ += border ? 1 : 0;
        for (std::int64_t v = part.begin; v < part.end; ++v)
          emit_static_iteration(loop, v, pending);
        borders_ -= border ? 1 : 0;
      } else if (part.begin < part.end) {
        emit_narrowed(loop, {part.begin, part.end, nullptr, nullptr, {}}, pending);
      }
    }
  }
  for (const auto& [block, k] : bounds.proven) proven_[block][k] = 0;
}

void Expander::emit_narrowed(LoopId loop, const Bounds& bounds,
                             const std::vector<Pending>& pending) {
  const int var = new_var(nest_.loops[loop].name, {bounds.begin, bounds.end - 1});
  bound_[loop] = {Binding::Kind::kDynamic, 0, 0, 1, var, {}};
  flat::Stmt body = capture([&] {
    std::vector<std::pair<BlockId, int>> proven;
    if (const flat::Expr all_inside = guard_of(loop, pending, proven))
      emit_either(loop, all_inside, proven);
    else emit_body(loop);
  });
  bound_[loop] = {};
  out_->push_back(
      flat::for_loop(var, bounds.dynamic_begin ? bounds.dynamic_begin : flat::int_imm(bounds.begin),
                     bounds.dynamic_end ? bounds.dynamic_end : flat::int_imm(bounds.end),
                     flat::ForKind::kSerial, std::move(body)));
}

}  // namespace lathe::lower
