// Sums of multiples of the same values by factors from a sparse literal, as the transforms of
// Cook-Toom algorithms are: no multiplication by 0 or 1, and what several results have in common
// is computed once.
#include <algorithm>

#include "compiler/cook_toom/sums.h"
#include "compiler/lower/expand/emitter.h"
#include "compiler/lower/expand/lanes.h"

namespace lathe::lower {
namespace {

bool moved_by(const BlockPlan& block, const std::vector<ir::Affine>& index, LoopId loop) {
  return std::ranges::any_of(index, [&](const ir::Affine& row) {
    return std::ranges::any_of(row.terms, [&](const ir::AffineTerm& term) {
      return std::ranges::any_of(block.iters[term.iter].digits,
                                 [&](const LoopDigit& digit) { return digit.loop == loop; });
    });
  });
}

bool is_sparse_read(const ir::Nest& nest, const ir::Expr& e) {
  const auto* read = std::get_if<ir::Read>(&e->value);
  return read != nullptr && nest.buffers[read->tensor].sparse;
}

// factor * value, added to `sum` (null: 0).
flat::Expr plus(const flat::Expr& sum, double factor, const flat::Expr& value) {
  const flat::Type type = value->type;
  if (!sum && factor == 1) return value;
  if (!sum) return flat::binary(flat::BinaryOp::kMul, value, flat::imm(factor, type));
  if (factor == 1) return flat::binary(flat::BinaryOp::kAdd, sum, value);
  if (factor == -1) return flat::binary(flat::BinaryOp::kSub, sum, value);
  return flat::fma(value, flat::imm(factor, type), sum);
}

// Starts with a term that need not be multiplied, if there is one.
flat::Expr total(cook_toom::Sum sum, const std::vector<flat::Expr>& values, flat::Type type) {
  std::ranges::stable_sort(sum, {}, [](const cook_toom::Term& t) { return t.factor != 1; });
  flat::Expr out;
  for (const cook_toom::Term& t : sum)
    out = plus(out, t.factor, values[static_cast<std::size_t>(t.value)]);
  return out ? out : flat::imm(0, type);
}

}  // namespace

// Nothing if something else is inside the loop, or if the loops are not all written out.
std::optional<LinearMap> Emitter::linear_map_at(LoopId loop) const {
  const auto blocks = place_.blocks_in_view(loop);
  if (blocks.size() != 1) return {};
  const ir::Block& block = nest_.blocks[blocks[0]];
  const BlockPlan& plan = plan_.blocks[blocks[0]];
  const auto* product = std::get_if<ir::Binary>(&block.body->value);
  if (!plan.live || block.reduce != ir::ReduceOp::kSum || product == nullptr ||
      product->op != ir::BinaryOp::kMul || !is_sparse_read(nest_, product->a) ||
      !plan.only_in_last.empty() || !plan.never_in_last.loops.empty() || !plan.resumed_over.empty())
    return {};
  const auto* values = std::get_if<ir::Read>(&product->b->value);
  if (values == nullptr) return {};
  LinearMap map{blocks[0], {}, {}, {}, ir::kRoot, std::get_if<ir::Read>(&product->a->value),
                product->b};
  for (const LoopId l : plan.path) {
    const bool inside = l == loop || plan_.inside(l, loop);
    if (!inside) {
      const bool known = place_.bound[l].kind == Binding::Kind::kStatic;
      if (plan_.reduces_over(blocks[0], l) || (!known && moved_by(plan, map.factors->index, l)))
        return {};
      continue;
    }
    if (nest_.loops[l].intrinsic != ir::IntrinsicId::kNone || plan_.has_fused_digit(l)) return {};
    const bool lanes = nest_.loops[l].kind == ir::LoopKind::kVectorized && acts_vectorized(l);
    if (!lanes && nest_.loops[l].kind != ir::LoopKind::kUnrolled && sized_.extent(l) > 1) return {};
    if (plan_.reduces_over(blocks[0], l)) {
      if (lanes) return {};
      map.terms.push_back(l);
    } else if (lanes) {
      if (map.lanes != ir::kRoot || moved_by(plan, map.factors->index, l)) return {};
      map.lanes = l;
    } else if (sized_.extent(l) == 1) {
      map.single.push_back(l);
    } else if (moved_by(plan, values->index, l)) {
      return {};
    } else {
      map.results.push_back(l);
    }
  }
  if (map.terms.empty()) return {};
  return map;
}

namespace {

class MapEmitter {
 public:
  MapEmitter(const LinearMap& map, const Plan& plan, Place& place, Code& code, BlockEmitter& leaf)
      : map_(map),
        plan_(plan),
        block_(plan.nest.blocks[map.block]),
        place_(place),
        code_(code),
        leaf_(leaf),
        lanes_outside_(place.lanes) {
    type_ = {block_.body->dtype, 1};
    for (const LoopId loop : map.terms) terms_ *= plan.sized.extent(loop);
    for (const LoopId loop : map.results) results_ *= plan.sized.extent(loop);
  }

  void run() {
    if (map_.lanes != ir::kRoot) {
      place_.bound[map_.lanes] = {Binding::Kind::kLane};
      place_.lanes = static_cast<int>(plan_.sized.extent(map_.lanes));
    }
    for (const LoopId loop : map_.single) bind(loop, 0);
    load_values();
    const cook_toom::SharedSums shared = cook_toom::share_sums(rows());
    for (const cook_toom::Sum& sum : shared.temporaries) keep(total(sum, values_, type_));
    store_results(shared.outputs);
    place_.lanes = lanes_outside_;
    for (const auto& loops : {map_.results, map_.single, map_.terms})
      for (const LoopId loop : loops) place_.bound[loop] = {};
    if (map_.lanes != ir::kRoot) place_.bound[map_.lanes] = {};
  }

 private:
  void bind(LoopId loop, std::int64_t value) {
    place_.bound[loop] = {Binding::Kind::kStatic, value};
  }
  // Number `value` among all iterations of these loops, the last of which changes fastest.
  void bind_all(const std::vector<LoopId>& loops, std::int64_t value) {
    for (std::size_t i = loops.size(); i-- > 0;) {
      const std::int64_t extent = plan_.sized.extent(loops[i]);
      bind(loops[i], value % extent);
      value /= extent;
    }
  }
  void bind_result(std::int64_t result) { bind_all(map_.results, result); }
  void bind_term(std::int64_t term) { bind_all(map_.terms, term); }
  Instance instance() const {
    Instance at{map_.block, &plan_.blocks[map_.block]};
    at.keeps_pads = true;
    return at;
  }

  void keep(flat::Expr value) {
    const flat::Type type = value->type;
    const int reg = static_cast<int>(code_.program.regs.size());
    code_.program.regs.push_back(type);
    code_.out->push_back(flat::reg_write(reg, std::move(value)));
    values_.push_back(flat::reg_read(reg, type));
  }

  // Each value in a register. The first result runs if any does. What is loaded and may not count
  // is chosen after all loads, so that these lie side by side.
  void load_values() {
    bind_result(0);
    std::vector<std::pair<std::size_t, flat::Expr>> choices;
    for (std::int64_t term = 0; term < terms_; ++term) {
      bind_term(term);
      Instance at = instance();
      const bool runs = leaf_.prepare_instance(at);
      type_.lanes = at.lanes;
      at.reached = both(at.reached, at.condition);  // what does not run must not be loaded
      flat::Expr value = runs ? leaf_.translate(at, map_.value) : flat::imm(0, type_);
      if (const auto* choice = std::get_if<flat::Select>(&value->value);
          choice != nullptr && std::holds_alternative<flat::Load>(choice->then->value)) {
        choices.emplace_back(values_.size(), value);
        value = choice->then;
      }
      keep(widen(std::move(value), type_.lanes));
    }
    for (const auto& [place, value] : choices) {
      const auto& choice = std::get<flat::Select>(value->value);
      keep(flat::select(choice.condition, values_[place], choice.otherwise));
      values_[place] = values_.back();
      values_.pop_back();
    }
  }

  std::vector<std::vector<double>> rows() {
    std::vector<std::vector<double>> out;
    for (std::int64_t result = 0; result < results_; ++result) {
      bind_result(result);
      std::vector<double>& row = out.emplace_back();
      for (std::int64_t term = 0; term < terms_; ++term) {
        bind_term(term);
        row.push_back(leaf_.literal_element(map_.block, *map_.factors));
      }
    }
    return out;
  }

  void store_results(const std::vector<cook_toom::Sum>& sums) {
    bind_term(0);
    for (std::int64_t result = 0; result < results_; ++result) {
      bind_result(result);
      Instance at = instance();
      if (!leaf_.prepare_instance(at)) continue;
      const flat::Stmt stmt = code_.capture([&] {
        leaf_.emit_write(at, block_.writes,
                         total(sums[static_cast<std::size_t>(result)], values_, type_));
      });
      leaf_.emit_guarded(at, stmt);
    }
  }

  const LinearMap& map_;
  const Plan& plan_;
  const ir::Block& block_;
  Place& place_;
  Code& code_;
  BlockEmitter& leaf_;
  int lanes_outside_;
  std::int64_t terms_ = 1, results_ = 1;
  flat::Type type_;
  std::vector<flat::Expr> values_;
};

}  // namespace

void Emitter::emit_linear_map(const LinearMap& map) {
  MapEmitter(map, plan_, place_, code_, leaf_).run();
}

}  // namespace lathe::lower
