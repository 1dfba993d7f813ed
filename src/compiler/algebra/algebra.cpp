#include "compiler/algebra/algebra.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/algebra/contraction_order.h"
#include "compiler/ir/expr/effort.h"
#include "compiler/schedule/parts.h"
#include "compiler/te/naive_nest.h"

namespace lathe::algebra {
namespace {

using ir::BlockId;
using ir::Expr;

// What takes fewer operations is as fast as a load.
constexpr double kDear = 4;
// Fewer evaluations than these times a value are cheaper than to keep it.
constexpr double kFewestUses = 2;
constexpr int kMostKept = 8;  // expressions of a block

double operations_of(ir::UnaryOp op) {
  switch (ir::effort_of(op)) {
    case ir::Effort::kShort: return 1;
    case ir::Effort::kRoot: return 5;
    case ir::Effort::kFunction: return 12;
  }
  return 0;
}

double operations_of(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::kDiv: return 4;
    case ir::BinaryOp::kMod: return 8;
    case ir::BinaryOp::kPow: return 30;
    default: return 1;
  }
}

double extent_of(const ir::Nest& nest, const ir::BlockIter& iter) {
  return static_cast<double>(nest.sizes.constant_value(iter.extent));
}
double points_of(const ir::Nest& nest, const ir::Block& block) {
  double points = 1;
  for (const ir::BlockIter& iter : block.iters) points *= extent_of(nest, iter);
  return points;
}

class Rewriter {
 public:
  Rewriter(ir::Nest& nest, schedule::Trace& steps, bool free_layout)
      : nest_(nest), steps_(steps), free_layout_(free_layout) {}

  void run() {
    std::vector<std::string> names;
    for (const BlockId id : nest_.blocks_in_order()) names.push_back(nest_.blocks[id].name);
    for (const std::string& name : names) contract(name);
    names.clear();
    for (const BlockId id : nest_.blocks_in_order()) names.push_back(nest_.blocks[id].name);
    for (const std::string& name : names)
      for (int kept = 0; kept < kMostKept && keep_some(name); ++kept) {
      }
  }

 private:
  const ir::Block& block(const std::string& name) const {
    return nest_.blocks[nest_.find_block(name)];
  }
  std::string fresh(const std::string& block, const char* what) const {
    for (int number = 1;; ++number) {
      std::string name = number == 1 ? fmt::format("{}.{}", block, what)
                                     : fmt::format("{}.{}{}", block, what, number);
      if (nest_.find_block(name) < 0 && nest_.find_buffer(name) < 0) return name;
    }
  }
  bool step(schedule::Step step) {
    if (!schedule::apply(nest_, step, free_layout_)) return false;
    steps_.push_back(std::move(step));
    return true;
  }

  // The sum of products of a block.
  FactorSum sum_of(const ir::Block& block, const std::vector<Expr>& factors) const {
    FactorSum sum;
    for (const ir::BlockIter& iter : block.iters) sum.extents.push_back(extent_of(nest_, iter));
    for (int i = 0; i < static_cast<int>(block.iters.size()); ++i)
      if (block.iters[static_cast<std::size_t>(i)].kind == ir::IterKind::kSpatial)
        sum.results.insert(i);
    for (const Expr& factor : factors)
      sum.factors.push_back({schedule::iters_of(factor), algebra::operations_of(factor),
                             schedule::elements_of(schedule::value_axes(nest_, block, factor))});
    return sum;
  }

  void contract(const std::string& name) {
    const ir::Block& sum = block(name);
    if (sum.reduce != ir::ReduceOp::kSum) return;
    const std::vector<Expr> factors = schedule::factors_of(sum.body);
    if (factors.size() < 2 || factors.size() > kMostFactors) return;
    std::vector<int> numbers(factors.size());
    for (std::size_t f = 0; f < factors.size(); ++f) numbers[f] = static_cast<int>(f);
    emit(name, contraction_order(sum_of(sum, factors)), std::move(numbers));
  }

  // Makes the steps for a block whose factors have these numbers in the order.
  void emit(const std::string& name, const ContractionPart& order, std::vector<int> numbers) {
    for (const ContractionPart& part : order.parts) {
      const std::set<int> all = part.all_factors();
      schedule::Contract contract{name, {}, fresh(name, part.is_kept ? "kept" : "first")};
      std::vector<int> mine, others = {-1};
      for (std::size_t f = 0; f < numbers.size(); ++f) {
        const bool is_mine = all.contains(numbers[f]);
        (is_mine ? mine : others).push_back(numbers[f]);
        if (is_mine) contract.factors.push_back(static_cast<std::int64_t>(f));
      }
      if (part.is_kept && keep(name, contract.factors.front(), contract.name)) continue;
      if (!step(contract)) continue;
      if (!part.is_kept) emit(contract.name, part, std::move(mine));
      numbers = std::move(others);
    }
  }

  // Keeps factor number f, where it is as it is written in the block.
  bool keep(const std::string& name, std::int64_t f, const std::string& as) {
    const Expr& body = block(name).body;
    const Expr factor = schedule::factors_of(body)[static_cast<std::size_t>(f)];
    const auto all = schedule::subexpressions(body);
    const auto found =
        std::ranges::find_if(all, [&](const Expr& e) { return ir::equal(e, factor); });
    return found != all.end() && step(schedule::Precompute{name, found - all.begin(), as});
  }

  // Keeps the outermost expression of the block that is worth it; false if none is.
  bool keep_some(const std::string& name) {
    const ir::Block& from = block(name);
    const auto all = schedule::subexpressions(from.body);
    for (std::size_t e = 0; e < all.size(); ++e)
      if (is_worth_keeping(from, all[e]) &&
          step(schedule::Precompute{name, static_cast<std::int64_t>(e), fresh(name, "kept")}))
        return true;
    return false;
  }

  bool is_worth_keeping(const ir::Block& from, const Expr& e) const {
    const double operations = algebra::operations_of(e);
    // Integers are places, mostly, which whatever reads there computes best.
    if (!is_float(e->dtype) || operations < kDear || !is_computed_anew(from, e)) return false;
    const double points = points_of(nest_, from),
                 values = schedule::elements_of(schedule::value_axes(nest_, from, e));
    return points >= kFewestUses * values &&
           operations * (points - values) > kPerValueKept * values + kPerPass;
  }

  // False if it depends on the outermost axes only: loops further in do not compute it again.
  bool is_computed_anew(const ir::Block& from, const Expr& e) const {
    const std::set<int> own = schedule::iters_of(e);
    if (own.empty()) return false;
    const bool sums = from.reduce != ir::ReduceOp::kNone;
    const auto is_reduced = [&](int i) {
      return from.iters[static_cast<std::size_t>(i)].kind == ir::IterKind::kReduce;
    };
    if (sums) return std::ranges::any_of(own, is_reduced);
    for (int i = 0; i < *own.rbegin(); ++i)
      if (!own.contains(i) && extent_of(nest_, from.iters[static_cast<std::size_t>(i)]) > 1)
        return true;
    return false;
  }

  ir::Nest& nest_;
  schedule::Trace& steps_;
  bool free_layout_;
};

}  // namespace

double operations_of(const Expr& e) {
  double operations = 0;
  ir::for_each_node(e, [&](const Expr& node) {
    if (const auto* u = std::get_if<ir::Unary>(&node->value)) operations += operations_of(u->op);
    if (const auto* b = std::get_if<ir::Binary>(&node->value)) operations += operations_of(b->op);
    if (std::holds_alternative<ir::Select>(node->value)) operations += 1;
  });
  return operations;
}

void rewrite(ir::Nest& nest, schedule::Trace& steps, bool free_layout) {
  Rewriter(nest, steps, free_layout).run();
}

Rewritten rewritten(const te::Workload& workload) {
  Rewritten out{workload, {}};
  ir::Nest nest = te::naive_nest(workload);
  rewrite(nest, out.steps, workload.contract.free_layout);
  if (out.steps.empty()) return out;
  for (std::size_t b = workload.tensors.size(); b < nest.buffers.size(); ++b) {
    te::Tensor tensor{
        nest.buffers[b].name, nest.buffers[b].dtype, {}, te::TensorRole::kIntermediate};
    for (const ir::SizeId size : nest.buffers[b].shape)
      tensor.shape.push_back(nest.sizes.constant_value(size));
    out.workload.tensors.push_back(std::move(tensor));
  }
  out.workload.stages.clear();
  for (const BlockId id : nest.blocks_in_order()) {
    const ir::Block& block = nest.blocks[id];
    te::Stage stage{block.writes, {}, block.reduce, block.body->dtype, block.body};
    for (const ir::BlockIter& iter : block.iters)
      stage.iters.push_back(
          {iter.name, nest.sizes.constant_value(iter.extent),
           iter.kind == ir::IterKind::kReduce ? te::IterKind::kReduce : te::IterKind::kSpatial});
    out.workload.stages.push_back(std::move(stage));
  }
  return out;
}

}  // namespace lathe::algebra
