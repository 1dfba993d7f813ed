// Loops that are not cut into edges and an interior, for that would make too much code: one test
// further inside tells the edges from the interior, whatever loops they are edges of.
#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/lower/expand/emitter.h"

namespace lathe::lower {

// Adds the test whether the constraint holds in all iterations inside. Where it cannot be written
// as one, nothing is added.
void Partitioner::add_test(const BlockConstraint& constraint, flat::Expr& all,
                           std::vector<BlockConstraint>& proven) const {
  const BlockPlan& plan = plan_.blocks[constraint.first];
  const Constraint& c = plan.constraints[constraint.second];
  Lin bound;
  Range rest{0, 0};
  bound.c = c.offset;
  for (const auto& term : c.terms) {
    bound.c += term.coef * plan.iters[term.iter].offset;
    for (const LoopDigit& d : plan.iters[term.iter].digits) {
      if (place_.bound[d.loop].kind != Binding::Kind::kUnbound) {
        bound.add(term.coef, place_.digit_lin(d));
        continue;
      }
      const Range r = plan_.free_range(d);
      rest.min += std::min(term.coef * r.min, term.coef * r.max);
      rest.max += std::max(term.coef * r.min, term.coef * r.max);
    }
  }
  if (bound.lane != 0 || bound.terms.empty()) return;
  const Range r = range_of(bound, place_.ranges, 1);
  const flat::Expr value = scalar_expr(bound);
  const auto both = [&](const flat::Expr& test) {
    all = all ? flat::binary(flat::BinaryOp::kAnd, all, test) : test;
  };
  if (r.min + rest.min < c.low)
    both(flat::binary(flat::BinaryOp::kLe, flat::int_imm(c.low - rest.min), value));
  if (r.max + rest.max >= c.high)
    both(flat::binary(flat::BinaryOp::kLe, value, flat::int_imm(c.high - 1 - rest.max)));
  proven.push_back(constraint);
}

flat::Expr Partitioner::test_of(const std::vector<BlockConstraint>& constraints,
                                std::vector<BlockConstraint>& proven) const {
  flat::Expr all;
  for (const BlockConstraint& constraint : constraints) add_test(constraint, all, proven);
  return all;
}

bool has_interior(const std::vector<Part>& parts) {
  return std::ranges::any_of(parts,
                             [](const Part& p) { return !p.written_out && p.begin < p.end; });
}

// The transforms of Cook-Toom algorithms are no such sums: they use often what is loaded once.
bool Partitioner::is_of_sum(const std::vector<Pending>& wanted) const {
  return std::ranges::any_of(wanted, [&](const Pending& p) {
    const ir::Block& block = nest_.blocks[p.block];
    return block.reduce != ir::ReduceOp::kNone &&
           std::ranges::none_of(ir::reads_of(block.body), [&](const ir::Read* read) {
             return nest_.buffers[read->tensor].sparse;
           });
  });
}

// Without an interior nothing is left that needs no masks, and over the terms of a sum what is left
// would not be written out.
bool Partitioner::may_stay_whole(LoopId loop, const std::vector<Part>& parts,
                                 const std::vector<Pending>& wanted) const {
  if (!is_of_sum(wanted)) return true;
  return has_interior(parts) && std::ranges::none_of(wanted, [&](const Pending& p) {
           return plan_.reduces_over(p.block, loop);
         });
}

bool Partitioner::joins_deferred(const std::vector<Part>& parts,
                                 const std::vector<Pending>& wanted) const {
  return has_interior(parts) && std::ranges::any_of(wanted, [&](const Pending& p) {
           return std::ranges::count(place_.deferred[p.block], 1) > 0;
         });
}

bool Partitioner::is_written_out(LoopId loop) const {
  const ir::LoopKind kind = nest_.loops[loop].kind;
  return kind == ir::LoopKind::kUnrolled || kind == ir::LoopKind::kVectorized ||
         sized_.extent(loop) == 1;
}

std::vector<BlockConstraint> Partitioner::decided_at(LoopId loop) const {
  std::vector<BlockConstraint> out;
  if (place_.init_of || place_.guarded > 0 || plan_.items_meet_in(loop) ||
      plan_.items_exchange_in(loop))
    return out;
  for (const BlockId id : place_.blocks_in_view(loop)) {
    const BlockPlan& plan = plan_.blocks[id];
    for (int k = 0; std::cmp_less(k, plan.constraints.size()); ++k) {
      if (place_.deferred[id][k] == 0 || place_.proven[id][k] != 0 ||
          place_.status(plan, k) != Status::kSometimes)
        continue;
      for (const LoopId l : plan.path)
        if ((l == loop || plan_.inside(l, loop)) && plan_.involves(plan, plan.constraints[k], l) &&
            !is_written_out(l))
          return {};
      out.emplace_back(id, k);
    }
  }
  return out;
}

Emitter::Checkpoint Emitter::checkpoint() const {
  return {code_.out->size(), code_.program.vars.size(), code_.program.regs.size(), leaf_.state(),
          edge_accesses_};
}

void Emitter::go_back(const Checkpoint& to) {
  code_.out->resize(to.statements);
  code_.program.vars.resize(to.vars);
  place_.ranges.resize(to.vars);
  code_.program.regs.resize(to.regs);
  leaf_.set_state(to.leaf);
  edge_accesses_ = to.edge_accesses;
}

Emitter::Edges::Edges(const std::vector<Part>& parts, std::int64_t most_accesses)
    : most(most_accesses) {
  for (const Part& part : parts) left += part.written_out ? part.end - part.begin : 0;
}

// Emits an iteration at an edge. False: if those that are left are like it, they are too much code.
bool Emitter::emit_edge(Edges& edges, const std::function<void()>& emit) {
  constexpr std::int64_t kLittle = 5;  // a part of what all may have: so much any loop may have
  const std::int64_t start = leaf_.accesses();
  const bool outermost = !edge_start_;
  if (outermost) edge_start_ = start;
  emit();
  const std::int64_t own = leaf_.accesses() - start;
  edges.accesses += own;
  --edges.left;
  const std::int64_t coming = edges.left * own,
                     all = edge_accesses_ + leaf_.accesses() - *edge_start_ + coming;
  if (outermost) {
    edge_accesses_ += own;
    edge_start_.reset();
  }
  return all <= edges.most || edges.accesses + coming <= edges.most / kLittle;
}

// Emits the loop cut, where that is little code; else nothing, and false.
bool Emitter::emit_if_small(LoopId loop, const std::vector<Part>& parts,
                            const std::vector<Pending>& wanted,
                            const std::function<bool(std::int64_t)>& emit) {
  constexpr std::int64_t kForSums = 2;  // so many times as much code is better than masks
  if (wanted.empty() || !parts_.may_stay_whole(loop, parts, wanted))
    return emit(std::numeric_limits<std::int64_t>::max());
  if (parts_.joins_deferred(parts, wanted)) return false;
  const Checkpoint start = checkpoint();
  if (emit(limits_.max_edge_accesses * (parts_.is_of_sum(wanted) ? kForSums : 1))) return true;
  go_back(start);
  return false;
}

// Marks as deferred what the loop would be cut for, while `emit` writes it as a whole.
void Emitter::emit_whole(const std::vector<Part>& parts, const std::vector<Pending>& wanted,
                         const std::function<void()>& emit) {
  const auto before = place_.deferred;
  for (const Pending& p : wanted)
    if (has_interior(parts)) place_.deferred[p.block][p.constraint] = 1;
  emit();
  place_.deferred = before;
}

// Emits the loop twice where constraints of its blocks were deferred to here. False: none were.
bool Emitter::emit_decided(LoopId loop) {
  const auto constraints = parts_.decided_at(loop);
  std::vector<BlockConstraint> proven;
  const flat::Expr test = parts_.test_of(constraints, proven);
  if (!test) return false;
  emit_either(test, proven, [&] { emit_loop(loop); });
  return true;
}

// Emits code twice: once without guards, once small and with guards.
void Emitter::emit_either(const flat::Expr& all_inside, const std::vector<BlockConstraint>& proven,
                          const std::function<void()>& emit) {
  for (const auto& [block, k] : proven) place_.proven[block][k] = 1;
  const flat::Stmt whole = code_.capture(emit);
  for (const auto& [block, k] : proven) place_.proven[block][k] = 0;
  ++place_.guarded, ++edges_;
  const flat::Stmt guarded = code_.capture(emit);
  --place_.guarded, --edges_;
  code_.out->push_back(flat::if_then(all_inside, whole, guarded));
}

}  // namespace lathe::lower
