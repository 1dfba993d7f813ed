#include "compiler/algebra/algebra.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "compiler/algebra/contraction_order.h"
#include "compiler/algebra/separation.h"
#include "compiler/analysis/dependence.h"
#include "compiler/ir/expr/effort.h"
#include "compiler/schedule/bounds.h"
#include "compiler/schedule/parts.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/scan.h"

namespace lathe::algebra {
namespace {

using ir::BlockId;
using ir::Expr;

// What takes fewer operations is as fast as a load.
constexpr double kDear = 4;
// Fewer evaluations than these times a value are cheaper than to keep it.
constexpr double kFewestUses = 2;
constexpr int kMostKept = 8;  // expressions of a block
// From so many times the operations of a pass and its values on, to keep them wins whatever memory
// does meanwhile.
constexpr double kClearly = 64;
constexpr double kMostEvaluations = 32;  // of a value that may be computed again

constexpr double kLongestScan = 1 << 20;  // terms of floats that are added one after the other
constexpr double kFewestLanes = 8;        // fewer scans at a time wait for each other's additions
constexpr double kLeastGain = 4;          // operations that a scan saves for one of its own
constexpr double kShortWindow = 0.5;      // of the loop: reads at computed places are slower
constexpr double kFewestBordered = 16;    // terms of which some are worth leaving out
constexpr std::size_t kMostTerms = 8;
constexpr double kApartPays = 2;   // operations of what is reduced at once, by those apart
constexpr double kFewestRows = 4;  // of a product whose operands are read again

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

// Operations that are saved where the values are kept, by those that this takes.
double gain_of(double operations, double evaluations, double values) {
  return operations * (evaluations - values) / (kPerValueKept * values + kPerPass);
}

class Rewriter {
 public:
  Rewriter(ir::Nest& nest, schedule::Trace& steps, bool free_layout, Repeated repeated)
      : nest_(nest), steps_(steps), free_layout_(free_layout), repeated_(repeated) {}

  void run() {
    share_reductions();
    for (const std::string& name : block_names()) bound(name);
    for (const std::string& name : block_names()) join(name);
    finish();
  }

 private:
  void finish() {
    for (const std::string& name : block_names())
      while (collect(name)) {
      }
    for (const std::string& name : block_names()) distribute(name);
    for (const std::string& name : block_names()) separate(name);
    for (const std::string& name : block_names()) contract(name);
    for (const std::string& name : block_names())
      for (int kept = 0; kept < kMostKept && keep_some(name); ++kept) {
      }
  }

  std::vector<std::string> block_names() const {
    std::vector<std::string> names;
    for (const BlockId id : nest_.blocks_in_order()) names.push_back(nest_.blocks[id].name);
    return names;
  }
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

  // What several blocks reduce alike is reduced once.
  void share_reductions() {
    std::vector<std::string> seen;
    for (const std::string& name : block_names()) {
      if (block(name).reduce == ir::ReduceOp::kNone) continue;
      const auto before = std::ranges::find_if(seen, [&](const std::string& other) {
        return block(name).reduce == block(other).reduce &&
               ir::equal(block(name).body, block(other).body) && step(schedule::Share{name, other});
      });
      if (before == seen.end()) seen.push_back(name);
      else step(schedule::Inline{name});  // it is a copy now
    }
  }

  // Blocks behind the one that keeps an expression read it there.
  void share_kept(const std::string& kept) {
    const Expr what = block(kept).body;
    const double operations = algebra::operations_of(what);
    bool behind = false;
    for (const std::string& name : block_names()) {
      if (behind && operations >= kDear && !alike_in(name, what).empty())
        step(schedule::Share{name, kept});
      behind = behind || name == kept;
    }
  }
  // Numbers of the block's expressions that may be the same with other iterators.
  std::vector<std::int64_t> alike_in(const std::string& name, const Expr& what) const {
    const auto nodes = schedule::subexpressions(what),
               all = schedule::subexpressions(block(name).body);
    std::vector<std::int64_t> out;
    const auto are_alike = [](const Expr& a, const Expr& b) {
      return a->value.index() == b->value.index() && a->dtype == b->dtype;
    };
    for (std::size_t e = 0; e + nodes.size() <= all.size(); ++e)
      if (schedule::subexpressions(all[e]).size() == nodes.size() &&
          std::ranges::equal(nodes, std::span(all).subspan(e, nodes.size()), are_alike))
        out.push_back(static_cast<std::int64_t>(e));
    return out;
  }
  // Keeps the expression at an earlier block that computes it, too.
  bool keep_earlier(const std::string& name, const Expr& what) {
    for (const std::string& earlier : block_names()) {
      if (earlier == name) return false;
      for (const std::int64_t e : alike_in(earlier, what)) {
        const ir::Nest nest = nest_;
        const std::size_t steps = steps_.size();
        const std::string kept = fresh(earlier, "kept");
        if (step(schedule::Precompute{earlier, e, kept}) && step(schedule::Share{name, kept})) {
          share_kept(kept);
          return true;
        }
        nest_ = nest;
        steps_.resize(steps);
      }
    }
    return false;
  }

  // Makes what the block reduces a part of the reduction that alone reads it, each element once.
  void join(const std::string& name) {
    const ir::Block& inner = block(name);
    const ir::Buffer& made = nest_.buffers[inner.writes];
    // A chain of additions in half precision would be longer.
    if (inner.reduce == ir::ReduceOp::kNone || made.scope != ir::Scope::kMemory || made.constant ||
        (is_float(made.dtype) && size_of(made.dtype) < size_of(Dtype::kF32)))
      return;
    const auto readers = analysis::readers_of(nest_, inner.writes);
    if (readers.size() != 1 || nest_.blocks[readers[0]].reduce != inner.reduce ||
        points_of(nest_, nest_.blocks[readers[0]]) > values_of(inner))
      return;
    ir::Nest joined = nest_;
    if (schedule::apply(joined, schedule::Inline{name}, free_layout_) &&
        operations_when_finished(std::move(joined)) <= operations_when_finished(nest_))
      step(schedule::Inline{name});
  }
  // Of all blocks that do not depend on constants alone, once everything else is rewritten.
  double operations_when_finished(ir::Nest nest) const {
    schedule::Trace steps;
    Rewriter other(nest, steps, free_layout_, repeated_);
    other.finish();
    double operations = 0;
    for (const BlockId id : nest.blocks_in_order()) {
      const ir::Block& made = nest.blocks[id];
      if (nest.buffers[made.writes].constant) continue;
      operations += points_of(nest, made) * std::max(1.0, algebra::operations_of(made.body)) +
                    kPerValueKept * other.values_of(made) + kPerPass;
    }
    return operations;
  }
  // Elements of its result.
  double values_of(const ir::Block& of) const {
    double values = 1;
    for (const ir::BlockIter& iter : of.iters)
      if (iter.kind == ir::IterKind::kSpatial) values *= extent_of(nest_, iter);
    return values;
  }

  // Windows of several dimensions go along one first, where neighbours share what that makes.
  void separate(const std::string& name) {
    std::string first;
    do first = goes_first(nest_, block(name));
    while (!first.empty() && step(schedule::Separate{name, {first}, fresh(name, "along")}));
  }

  // Makes scans and windows of what the block reduces up to a bound.
  void bound(const std::string& name) {
    std::vector<std::string> iters;
    for (const ir::BlockIter& iter : block(name).iters)
      if (iter.kind == ir::IterKind::kReduce) iters.push_back(iter.name);
    for (const std::string& iter : iters)
      if (!scan(name, iter)) shorten(name, iter);
  }
  bool scan(const std::string& name, const std::string& along) {
    const ir::Block& from = block(name);
    const int iter = iter_named(from, along);
    const double terms = extent_of(nest_, from.iters[static_cast<std::size_t>(iter)]);
    const bool rounds = from.reduce == ir::ReduceOp::kSum || from.reduce == ir::ReduceOp::kProd;
    if (rounds && is_float(from.body->dtype) && terms > kLongestScan) return false;
    if (!schedule::bounded_terms(nest_, from, iter)) return false;
    const double before = points_of(nest_, from);
    ir::Nest copy = nest_;  // as it were
    schedule::Scan step{name, along, ""};
    if (!schedule::apply(copy, step, free_layout_)) {
      step.name = fresh(name, "scan");
      if (!schedule::apply(copy, step, free_layout_)) return false;
    }
    const ir::Block& made = copy.blocks[copy.find_block(step.name.empty() ? name : step.name)];
    const double elements = points_of(copy, made);
    const double rest = step.name.empty() ? 0 : before / terms;
    // One after the other, unless there are others beside them.
    const double slow = elements / terms < kFewestLanes ? kFewestLanes : 1;
    if (before < kLeastGain * (slow * elements + rest)) return false;
    return this->step(std::move(step));
  }
  void shorten(const std::string& name, const std::string& along) {
    const ir::Block& from = block(name);
    const int iter = iter_named(from, along);
    const auto bounded = schedule::bounded_terms(nest_, from, iter);
    if (!bounded) return;
    const double length =
        static_cast<double>(schedule::window_of(nest_, from, iter, bounded->bounds).length);
    const double extent = extent_of(nest_, from.iters[static_cast<std::size_t>(iter)]);
    if (length <= kShortWindow * extent ||
        (length >= extent && extent >= kFewestBordered && bounded->terms != from.body &&
         has_lanes_beside(from, *bounded)))
      step(schedule::Window{name, along});
  }
  // True if an axis along which something is read has no part in the conditions: lanes along it
  // need no masks.
  bool has_lanes_beside(const ir::Block& from, const schedule::BoundedTerms& bounded) const {
    std::set<int> own;
    for (const auto* conditions : {&bounded.bounding, &bounded.others})
      for (const Expr& condition : *conditions) own.merge(schedule::iters_of(condition));
    for (const ir::Read* read : ir::reads_of(bounded.terms))
      for (const ir::AffineTerm& term : read->index.back().terms) {
        const ir::BlockIter& iter = from.iters[static_cast<std::size_t>(term.iter)];
        if (iter.kind == ir::IterKind::kSpatial && !own.contains(term.iter) && term.coef == 1 &&
            extent_of(nest_, iter) >= kFewestLanes)
          return true;
      }
    return false;
  }
  static int iter_named(const ir::Block& from, const std::string& name) {
    const auto found = std::ranges::find(from.iters, name, &ir::BlockIter::name);
    return static_cast<int>(found - from.iters.begin());
  }

  // Takes a factor out of terms of a sum that have it, where what it multiplies then has few
  // values.
  bool collect(const std::string& name) {
    const ir::Block& sum = block(name);
    if (sum.reduce != ir::ReduceOp::kSum) return false;
    const auto terms = schedule::terms_of(sum.body);
    if (terms.size() < 2 || terms.size() > kMostTerms) return false;
    for (std::size_t t = 0; t + 1 < terms.size(); ++t) {
      const auto factors = schedule::factors_of(terms[t].value);
      for (std::size_t f = 0; f < factors.size(); ++f) {
        if (schedule::iters_of(factors[f]).empty()) continue;
        const schedule::Collected collected = schedule::collected_by(terms, factors[f]);
        if (collected.terms < 2) continue;
        double values = 1;
        for (const int i : schedule::iters_of(collected.rest))
          values *= extent_of(nest_, sum.iters[static_cast<std::size_t>(i)]);
        if (kFewestRows * values <= points_of(nest_, sum) &&
            step(schedule::Collect{name, static_cast<std::int64_t>(t),
                                   static_cast<std::int64_t>(f)}))
          return true;
      }
    }
    return false;
  }

  // Reduces apart what needs fewer iterators, or is a product of matrices each.
  void distribute(const std::string& name) {
    const ir::Block& from = block(name);
    const auto portions = schedule::portions_of(from);
    if (portions.empty() || portions.size() > kMostTerms) return;
    if (!saves_iterations(from, portions) && !has_products(from, portions)) return;
    schedule::Distribute apart{name, {}};
    for (const schedule::Portion& portion : portions) {
      if (!portion.reduces) continue;
      std::string part = fmt::format("{}.term{}", name, apart.names.size() + 1);
      if (nest_.find_block(part) >= 0 || nest_.find_buffer(part) >= 0) return;
      apart.names.push_back(std::move(part));
    }
    step(std::move(apart));
  }
  bool saves_iterations(const ir::Block& from,
                        const std::vector<schedule::Portion>& portions) const {
    // The order of factors saves what one product can.
    if (portions.size() == 1 && from.reduce == ir::ReduceOp::kSum &&
        schedule::factors_of(from.body).size() > 1)
      return false;
    const bool multiplies = from.reduce == ir::ReduceOp::kProd;
    double apart = values_of(from) * static_cast<double>(portions.size());
    for (const schedule::Portion& portion : portions) {
      if (!portion.reduces) continue;
      double values = 1, terms = 1;
      for (int i = 0; i < static_cast<int>(from.iters.size()); ++i) {
        const ir::BlockIter& iter = from.iters[static_cast<std::size_t>(i)];
        const bool sums = iter.kind == ir::IterKind::kReduce;
        if (portion.iters.contains(i) || (sums && multiplies))
          (sums ? terms : values) *= extent_of(nest_, iter);
      }
      apart +=
          values * (terms * std::max(1.0, algebra::operations_of(portion.value)) + kPerValueKept) +
          kPerPass;
    }
    return apart * kApartPays <
           points_of(nest_, from) * std::max(1.0, algebra::operations_of(from.body));
  }
  bool has_products(const ir::Block& sum, const std::vector<schedule::Portion>& terms) const {
    if (sum.reduce != ir::ReduceOp::kSum || terms.size() < 2) return false;
    int products = 0;
    for (const schedule::Portion& term : terms) {
      const Sharing sharing = sharing_of(sum, term.value);
      if (sharing == Sharing::kNone) return false;
      products += sharing == Sharing::kProduct ? 1 : 0;
    }
    return products > 0;
  }
  // What a term reads again for other elements of the result.
  enum class Sharing { kNone, kAll, kProduct };
  Sharing sharing_of(const ir::Block& sum, const Expr& term) const {
    const auto results_of = [&](const Expr& e) {
      std::set<int> out = schedule::iters_of(e);
      std::erase_if(out, [&](int i) {
        const ir::BlockIter& iter = sum.iters[static_cast<std::size_t>(i)];
        return iter.kind == ir::IterKind::kReduce || extent_of(nest_, iter) < kFewestRows;
      });
      return out;
    };
    std::set<int> all;
    for (const ir::BlockIter& iter : sum.iters)
      if (iter.kind == ir::IterKind::kSpatial && extent_of(nest_, iter) >= kFewestRows)
        all.insert(iter_named(sum, iter.name));
    if (results_of(term) != all) return Sharing::kAll;
    int partial = 0;
    for (const Expr& factor : schedule::factors_of(term)) {
      const std::set<int> own = results_of(factor);
      if (!own.empty() && own != all) ++partial;
    }
    return partial >= 2 ? Sharing::kProduct : Sharing::kNone;
  }

  // The sum of products of a block, whose factors are kept for it.
  FactorSum sum_of(const ir::Block& block, const std::vector<Expr>& factors) const {
    FactorSum sum;
    for (const ir::BlockIter& iter : block.iters) sum.extents.push_back(extent_of(nest_, iter));
    for (int i = 0; i < static_cast<int>(block.iters.size()); ++i)
      if (block.iters[static_cast<std::size_t>(i)].kind == ir::IterKind::kSpatial)
        sum.results.insert(i);
    for (const Expr& factor : factors)
      sum.factors.push_back({schedule::iters_of(factor), algebra::operations_of(factor),
                             schedule::elements_of(schedule::value_axes(nest_, block, factor)),
                             !schedule::iters_of(factor).empty()});
    sum.values = [this, &block, &factors](const std::set<int>& some, const std::set<int>& summed) {
      std::vector<Expr> product;
      for (const int f : some) product.push_back(factors[static_cast<std::size_t>(f)]);
      return schedule::elements_of(
          schedule::value_axes(nest_, block, schedule::product_of(product), summed));
    };
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

  // Keeps factor number f, where it is as it is written in the block and not to be computed again.
  bool keep(const std::string& name, std::int64_t f, const std::string& as) {
    const Expr& body = block(name).body;
    const Expr factor = schedule::factors_of(body)[static_cast<std::size_t>(f)];
    if (is_left_alone(block(name), factor)) return true;
    const auto all = schedule::subexpressions(body);
    const auto found =
        std::ranges::find_if(all, [&](const Expr& e) { return ir::equal(e, factor); });
    if (found == all.end()) return false;
    if (keep_earlier(name, factor)) return true;
    if (!step(schedule::Precompute{name, found - all.begin(), as})) return false;
    share_kept(as);
    if (!alike_in(name, block(as).body).empty()) step(schedule::Share{name, as});
    return true;
  }

  // Keeps the outermost expression of the block that is worth it; false if none is.
  bool keep_some(const std::string& name) {
    const ir::Block from = block(name);
    const auto all = schedule::subexpressions(from.body);
    for (std::size_t e = 0; e < all.size(); ++e) {
      if (!is_worth_keeping(from, all[e])) continue;
      if (keep_earlier(name, all[e])) return true;
      const std::string kept = fresh(name, "kept");
      if (!step(schedule::Precompute{name, static_cast<std::int64_t>(e), kept})) continue;
      share_kept(kept);
      return true;
    }
    return false;
  }

  bool is_worth_keeping(const ir::Block& from, const Expr& e) const {
    const double operations = algebra::operations_of(e);
    // Integers are places, mostly, which whatever reads there computes best.
    if (!is_float(e->dtype) || operations < kDear || !is_computed_anew(from, e)) return false;
    const double points = points_of(nest_, from),
                 values = schedule::elements_of(schedule::value_axes(nest_, from, e));
    return points >= kFewestUses * values && gain_of(operations, points, values) > 1 &&
           !is_left_alone(from, e);
  }
  // True if it is computed again. What depends on constants alone is computed in prepare().
  bool is_left_alone(const ir::Block& from, const Expr& e) const {
    const auto is_constant = [&](int tensor) { return nest_.buffers[tensor].constant; };
    return repeated_ == Repeated::kAgain &&
           may_be_computed_again(algebra::operations_of(e), points_of(nest_, from),
                                 schedule::elements_of(schedule::value_axes(nest_, from, e))) &&
           !std::ranges::all_of(ir::tensors_of(e), is_constant);
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
  Repeated repeated_;
};

}  // namespace

bool may_be_computed_again(double operations, double evaluations, double values) {
  return evaluations <= kMostEvaluations * values &&
         gain_of(operations, evaluations, values) < kClearly;
}

double operations_of(const Expr& e) {
  double operations = 0;
  ir::for_each_node(e, [&](const Expr& node) {
    if (const auto* u = std::get_if<ir::Unary>(&node->value)) operations += operations_of(u->op);
    if (const auto* b = std::get_if<ir::Binary>(&node->value)) operations += operations_of(b->op);
    if (std::holds_alternative<ir::Select>(node->value)) operations += 1;
  });
  return operations;
}

namespace {

// The body of a block; of a scan from the end, whose axis the nest turns round, as a stage has it.
Expr turned_back(const ir::Nest& nest, const ir::Block& block) {
  std::vector<Expr> values;
  bool is_turned = false;
  for (int i = 0; i < static_cast<int>(block.iters.size()); ++i) {
    values.push_back(ir::iter_value(i));
    for (const ir::Affine& row : block.index) {
      if (row.coef_of(i) >= 0) continue;
      const double last = extent_of(nest, block.iters[static_cast<std::size_t>(i)]) - 1;
      values.back() =
          ir::binary(ir::BinaryOp::kSub, ir::constant(last, Dtype::kI64), values.back());
      is_turned = true;
    }
  }
  return is_turned ? *ir::with_iterators(block.body, values) : block.body;
}

}  // namespace

void rewrite(ir::Nest& nest, schedule::Trace& steps, bool free_layout, Repeated repeated) {
  Rewriter(nest, steps, free_layout, repeated).run();
}

bool makes_scans(const te::Workload& workload) {
  return te::has_recurrence(workload) || te::has_scan(rewritten(workload).workload);
}

Rewritten rewritten(const te::Workload& workload, Repeated repeated) {
  Rewritten out{workload, {}};
  ir::Nest nest = te::naive_nest(workload);
  rewrite(nest, out.steps, workload.contract.free_layout, repeated);
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
    te::Stage stage{block.writes, {}, block.reduce, block.body->dtype, turned_back(nest, block)};
    for (const ir::BlockIter& iter : block.iters)
      stage.iters.push_back(
          {iter.name, nest.sizes.constant_value(iter.extent),
           iter.kind == ir::IterKind::kReduce ? te::IterKind::kReduce : te::IterKind::kSpatial});
    out.workload.stages.push_back(std::move(stage));
  }
  return out;
}

}  // namespace lathe::algebra
