// Loops: unrolled, vectorized, narrowed to the iterations that matter, or cut into edges and an
// interior.
#include "compiler/lower/expand/emitter.h"

#include <algorithm>
#include <utility>

#include "compiler/analysis/dependence.h"

namespace lathe::lower {

namespace {

// Lanes. A longer "vectorized" loop stays a loop, unless it indexes registers.
constexpr int kMaxVector = 128;

// True if the loop is part of an index with which a block inside it reads the buffer.
bool moves_reads(const ir::Nest& nest, BufferId buffer, LoopId loop) {
  return std::ranges::any_of(nest.blocks_in(loop), [&](BlockId id) {
    const ir::Block& block = nest.blocks[id];
    return std::ranges::any_of(ir::reads_of(block.body), [&](const ir::Read* read) {
      return read->tensor == buffer && analysis::is_driven_by(block, read->index, loop);
    });
  });
}

}  // namespace

Emitter::Emitter(const Plan& plan, flat::Program frame, const Limits& limits)
    : plan_(plan),
      sized_(plan.sized),
      nest_(plan.nest),
      code_{.program = std::move(frame)},
      place_(plan),
      parts_(plan, place_),
      leaf_(plan, place_, code_, limits),
      limits_(limits),
      shared_(plan.nest.loops.size(), -1) {}

flat::Program Emitter::run() {
  if (plan_.grids) return run_on_grids();
  std::vector<flat::Stmt> prepare, run;
  for (const ir::Item& item : nest_.root) {
    const bool prepared = std::ranges::all_of(plan_.blocks_of(item), [&](BlockId id) {
      return plan_.prepared[nest_.blocks[id].writes] != 0;
    });
    code_.out = prepared ? &prepare : &run;
    emit_items({item});
  }
  if (!prepare.empty()) flat::set_prepare(code_.program, flat::seq(std::move(prepare)));
  flat::set_run(code_.program, flat::seq(std::move(run)));
  return std::move(code_.program);
}

int Emitter::new_var(const std::string& hint, Range range) {
  code_.program.vars.push_back(hint);
  place_.ranges.push_back(range);
  return static_cast<int>(code_.program.vars.size()) - 1;
}

void Emitter::emit_items(const std::vector<ir::Item>& items) {
  for (std::size_t i = 0; i < items.size();) {
    const std::size_t copied = emit_copies(std::span(items).subspan(i));
    if (copied == 0) emit_item(items[i]);
    i += std::max<std::size_t>(copied, 1);
  }
}

void Emitter::emit_item(const ir::Item& item) {
  if (emit_for_some_items(item)) return;
  if (item.kind == ir::Item::Kind::kBlock) leaf_.emit_block(item.id);
  else emit_loop(item.id);
}

void Emitter::emit_loop(LoopId loop) {
  if (place_.none_runs(loop, nest_.loops[loop].parent)) return;
  if (emit_decided(loop)) return;
  if (place_.init_of && plan_.reduces_over(*place_.init_of, loop))
    return emit_items(nest_.loops[loop].body);
  if (!place_.init_of)
    if (const auto map = linear_map_at(loop)) return emit_linear_map(*map);
  if (const BlockId sum = plan_.sum_of_lanes(loop); sum >= 0) return emit_sum_of_lanes(loop, sum);
  if (!place_.init_of) emit_inits_before(loop);  // even where padding leaves nothing to add
  if (place_.none_runs(loop, loop)) return;
  const ir::Loop& l = nest_.loops[loop];
  if (l.intrinsic != ir::IntrinsicId::kNone && !place_.init_of && !plan_.grids)
    return emit_intrinsic(loop);
  switch (l.kind) {
    case ir::LoopKind::kVectorized:
      if (acts_vectorized(loop)) return emit_vectorized(loop);
      return stays_a_loop(loop) ? emit_dynamic(loop) : emit_unrolled(loop);
    case ir::LoopKind::kUnrolled:
      return not_worth_unrolling(loop) ? emit_dynamic(loop) : emit_unrolled(loop);
    case ir::LoopKind::kSerial:
    case ir::LoopKind::kParallel: return emit_dynamic(loop);
    default:
      if (plan_.grids) return emit_bound(loop);
      refuse(ErrorKind::kUnsupported,
             "loop {} is bound to {}, which only GPU targets have; annotate it parallel", l.name,
             ir::name_of(l.kind));
  }
}

// True if the lanes of this loop are the whole reduction, so that nothing comes before them.
bool Emitter::starts_with_lanes(LoopId loop, BlockId id) const {
  if (nest_.loops[loop].kind != ir::LoopKind::kVectorized || !acts_vectorized(loop)) return false;
  return plan_.reduces_over(id, loop) && plan_.blocks[id].resumed_over.empty() &&
         place_.always_runs(id);
}

void Emitter::emit_inits_before(LoopId loop) {
  for (const BlockId id : plan_.blocks_in[loop]) {
    if (!plan_.blocks[id].live || plan_.blocks[id].init_loop != loop) continue;
    if (starts_with_lanes(loop, id)) continue;
    place_.init_of = id;
    emit_loop(loop);
    place_.init_of.reset();
  }
}

bool Emitter::acts_vectorized(LoopId loop) const {
  const std::int64_t extent = sized_.extent(loop);
  if (place_.lanes > 1 || extent < 2 || extent > kMaxVector || plan_.has_fused_digit(loop))
    return false;
  const auto& body = nest_.loops[loop].body;
  const bool alone = body.size() == 1 && body[0].kind == ir::Item::Kind::kBlock;
  const bool halves = (extent & (extent - 1)) == 0;
  if (plan_.grids && (!halves || extent > plan_.grids->most_lanes)) return false;
  return std::ranges::none_of(plan_.blocks_in[loop], [&](BlockId id) {
    const BlockPlan& plan = plan_.blocks[id];
    return plan.live && plan_.reduces_over(id, loop) &&
           !(alone && halves && std::ranges::count(plan.resumed_over, loop) == 0);
  });
}

// True if the loop is too long for a vector and for being written out.
bool Emitter::stays_a_loop(LoopId loop) const {
  const auto in_registers = [&](BufferId buffer) { return plan_.storage[buffer].is_register; };
  return sized_.extent(loop) > kMaxVector &&
         std::ranges::none_of(place_.blocks_in_view(loop), [&](BlockId id) {
           const ir::Block& block = nest_.blocks[id];
           const auto reads = ir::reads_of(block.body);
           return in_registers(block.writes) ||
                  std::ranges::any_of(
                      reads, [&](const ir::Read* read) { return in_registers(read->tensor); });
         });
}

// At an edge, unrolling a reduction only costs compile time. Registers of items are told apart by
// numbers alone.
bool Emitter::not_worth_unrolling(LoopId loop) const {
  const auto blocks = place_.blocks_in_view(loop);
  return edges_ > 0 && std::ranges::all_of(blocks, [&](BlockId id) {
           const auto reads = ir::reads_of(nest_.blocks[id].body);
           return plan_.reduces_over(id, loop) &&
                  std::ranges::none_of(
                      reads, [&](const ir::Read* read) { return plan_.is_of_lanes(read->tensor); });
         });
}

void Emitter::emit_unrolled(LoopId loop) {
  const auto pending = parts_.pending_at(loop, 1, 0);
  for (std::int64_t v = 0; v < sized_.extent(loop); ++v) emit_static_iteration(loop, v, pending);
}

void Emitter::emit_vectorized(LoopId loop) {
  place_.bound[loop] = {Binding::Kind::kLane};
  place_.lanes = static_cast<int>(sized_.extent(loop));
  emit_body(loop);
  place_.lanes = 1;
  place_.bound[loop] = {};
}

// Emits one iteration, with the loop bound to a number.
void Emitter::emit_static_iteration(LoopId loop, std::int64_t value,
                                    const std::vector<Pending>& pending) {
  place_.bound[loop] = {Binding::Kind::kStatic, value};
  for (const Pending& p : pending) {
    const std::int64_t beyond = parts_.shift_of(loop, p);
    if (beyond == 0) continue;
    place_.bound[loop].shift = -beyond;
    place_.bound[loop].shift_weight = p.weight;
    break;
  }
  if (!place_.none_runs(loop, loop)) emit_body(loop);
  place_.bound[loop] = {};
}

void Emitter::emit_body(LoopId loop) {
  const std::size_t before = leaf_.prefetches().size();
  for (const auto& [buffer, bytes] : nest_.loops[loop].prefetch) {
    const std::int64_t ahead = sized_[bytes] / size_of(nest_.buffers[buffer].dtype);
    if (ahead <= 0 || plan_.grids) continue;
    const bool again = sized_.extent(loop) > 1 && !moves_reads(nest_, buffer, loop);
    leaf_.prefetches().push_back({buffer, ahead, again ? loop : ir::kRoot});
  }
  emit_items(nest_.loops[loop].body);
  leaf_.prefetches().resize(before);
}

void Emitter::emit_dynamic(LoopId loop) {
  if (sized_.extent(loop) == 1)
    return emit_static_iteration(loop, 0, parts_.pending_at(loop, 1, 0));
  if (shared_[loop] >= 0) return emit_shared(loop);
  if (emit_staged(loop)) return;
  const bool parallel = nest_.loops[loop].kind == ir::LoopKind::kParallel &&
                        !plan_.in_parallel(nest_.loops[loop].parent);
  if (parallel || plan_.has_fused_digit(loop))
    return emit_uncut(loop, parallel ? flat::parallel_for : flat::for_loop);
  const auto pending = parts_.pending_at(loop, 1, 0);
  Bounds bounds = parts_.narrow(loop, pending);
  if (!bounds.dynamic()) parts_.leave_out_idle(loop, bounds);
  for (const auto& [block, k] : bounds.proven) place_.proven[block][k] = 1;
  if (bounds.dynamic()) emit_narrowed(loop, bounds, pending);
  else emit_parts(loop, bounds, pending);
  for (const auto& [block, k] : bounds.proven) place_.proven[block][k] = 0;
}

// The parallel loops that are one phase with this one, which is the first of them: each has nothing
// else in it than the next.
std::vector<LoopId> Emitter::shared_with(LoopId loop) const {
  std::vector<LoopId> loops = {loop};
  while (true) {
    const ir::Loop& last = nest_.loops[loops.back()];
    const bool holds =
        std::ranges::any_of(nest_.buffers, [&](const auto& b) { return b.at == loops.back(); });
    if (last.body.size() != 1 || last.body[0].kind != ir::Item::Kind::kLoop || holds ||
        !last.prefetch.empty() || nest_.loops[last.body[0].id].kind != ir::LoopKind::kParallel)
      return loops;
    loops.push_back(last.body[0].id);
  }
}

// A loop whose iterations cannot be cut apart: its body tells them apart. Of parallel loops that
// are one, the variables are parts of the phase's.
void Emitter::emit_uncut(LoopId loop, MakeLoop make) {
  const bool parallel = make == flat::parallel_for;
  const std::vector<LoopId> loops = parallel ? shared_with(loop) : std::vector<LoopId>{loop};
  std::int64_t count = 1;
  for (const LoopId l : loops) count *= sized_.extent(l);
  const int all = new_var(nest_.loops[loop].name, {0, count - 1});
  flat::Stmt body = code_.capture([&] {
    std::int64_t inside = count;
    for (const LoopId l : loops) {
      const std::int64_t extent = sized_.extent(l);
      shared_[l] = all;
      if (loops.size() == 1) break;
      inside /= extent;
      flat::Expr value = flat::var(all);
      if (inside > 1) value = flat::binary(flat::BinaryOp::kDiv, value, flat::int_imm(inside));
      if (l != loop) value = flat::binary(flat::BinaryOp::kMod, value, flat::int_imm(extent));
      shared_[l] = new_var(nest_.loops[l].name, {0, extent - 1});
      code_.out->push_back(flat::let(shared_[l], value));
    }
    emit_shared(loop);
  });
  for (const LoopId l : loops) shared_[l] = -1;
  code_.out->push_back(make(all, flat::int_imm(0), flat::int_imm(count), std::move(body)));
}

void Emitter::emit_shared(LoopId loop) {
  place_.bound[loop] = {Binding::Kind::kDynamic, 0, 0, 1, shared_[loop], {}};
  emit_guarded_body(loop);
  place_.bound[loop] = {};
}

// The tail becomes code here: edges are written out iteration by iteration, the interior is a loop.
void Emitter::emit_parts(LoopId loop, const Bounds& bounds, const std::vector<Pending>& pending) {
  const auto wanted = parts_.wanted(loop, 1, 0, pending);
  const auto parts = parts_.parts_of(bounds.begin, bounds.end, wanted, [&](std::int64_t v) {
    place_.bound[loop] = {Binding::Kind::kStatic, v};
  });
  place_.bound[loop] = {};
  const auto cut = [&](std::int64_t most) { return emit_cut(loop, parts, pending, most); };
  if (emit_if_small(loop, parts, wanted, cut)) return;
  emit_whole(parts, wanted, [&] {
    emit_narrowed(loop, {bounds.begin, bounds.end, nullptr, nullptr, {}}, pending);
  });
}

// False: the edges are too much code.
bool Emitter::emit_cut(LoopId loop, const std::vector<Part>& parts,
                       const std::vector<Pending>& pending, std::int64_t most) {
  const auto blocks = place_.blocks_in_view(loop);
  const bool interior = has_interior(parts) && std::ranges::none_of(blocks, [&](BlockId id) {
                          return plan_.reduces_over(id, loop);
                        });
  Edges edges(parts, most);
  for (const Part& part : parts) {
    if (part.written_out || part.end - part.begin == 1) {
      const bool edge = part.written_out && interior;
      edges_ += edge ? 1 : 0;
      for (std::int64_t v = part.begin; v < part.end; ++v) {
        const auto emit = [&] { emit_static_iteration(loop, v, pending); };
        if (!part.written_out) emit();
        else if (!emit_edge(edges, emit)) {
          edges_ -= edge ? 1 : 0;
          return false;
        }
      }
      edges_ -= edge ? 1 : 0;
    } else if (part.begin < part.end) {
      emit_narrowed(loop, {part.begin, part.end, nullptr, nullptr, {}}, pending);
    }
  }
  return true;
}

void Emitter::emit_narrowed(LoopId loop, const Bounds& bounds,
                            const std::vector<Pending>& pending) {
  const int var = new_var(nest_.loops[loop].name, {bounds.begin, bounds.end - 1});
  place_.bound[loop] = {Binding::Kind::kDynamic, 0, 0, 1, var, {}};
  flat::Stmt body = code_.capture([&] {
    std::vector<BlockConstraint> proven;
    if (const flat::Expr all_inside = parts_.guard_of(loop, pending, proven))
      emit_either(all_inside, proven, [&] { emit_body(loop); });
    else emit_body(loop);
  });
  place_.bound[loop] = {};
  code_.out->push_back(flat::for_loop(
      var, bounds.dynamic_begin ? bounds.dynamic_begin : flat::int_imm(bounds.begin),
      bounds.dynamic_end ? bounds.dynamic_end : flat::int_imm(bounds.end), std::move(body)));
}

}  // namespace lathe::lower
