#include "tuner/measure/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "base/dtype.h"
#include "compiler/interp/reduction.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/saturation.h"
#include "compiler/te/scan.h"
#include "compiler/te/work.h"
#include "runtime/runner/check.h"
#include "tuner/measure/arithmetic.h"
#include "tuner/measure/bounds.h"
#include "tuner/measure/neighbourhood.h"
#include "tuner/measure/shallow.h"

namespace lathe::measure {
namespace {

using ir::Expr;
using namespace f64;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Writes the stages of a reference: each stage of the workload in f64, and beside it the one that
// computes its bound.
class ReferenceWriter {
 public:
  ReferenceWriter(te::Workload workload, bool with_bounds)
      : workload_(std::move(workload)),
        with_bounds_(with_bounds),
        by_tensor_(workload_.tensors.size(), -1),
        bounds_(by_tensor_) {
    result_.name = "reference";
    result_.tensors = workload_.tensors;
    for (te::Tensor& tensor : result_.tensors) {
      tensor.dtype = widened(tensor.dtype);
      tensor.constant = false;  // for a single run, prepare() gains nothing
    }
  }

  ReferenceWorkload write() {
    for (const te::Recurrence& recurrence : te::recurrences_of(workload_))
      for (const int s : with_bounds_ ? recurrence.stages : std::vector<int>())
        foresee(workload_.stages[static_cast<std::size_t>(s)]);
    for (const te::Stage& stage : workload_.stages) add(stage);
    te::gather_recurrences(result_);
    ReferenceWorkload out{std::move(result_), {}, bounds_.jumps()};
    for (const int t : workload_.outputs()) {
      const int bound = by_tensor_[static_cast<std::size_t>(t)];
      out.names.push_back(
          {workload_.tensors[static_cast<std::size_t>(t)].name,
           bound < 0 ? std::string() : out.workload.tensors[static_cast<std::size_t>(bound)].name});
    }
    return out;
  }

 private:
  const te::Tensor& tensor_of(const te::Stage& stage) const {
    return workload_.tensors[static_cast<std::size_t>(stage.tensor)];
  }

  // Makes a new tensor beside that of the stage.
  int tensor_beside(const te::Stage& stage, const char* what, te::TensorRole role) {
    return new_tensor(tensor_of(stage).name + "_" + what, tensor_of(stage).shape, role);
  }
  int new_tensor(std::string name, std::vector<std::int64_t> shape, te::TensorRole role) {
    while (result_.find(name) >= 0) name += "_";
    result_.tensors.push_back(
        {.name = std::move(name), .dtype = Dtype::kF64, .shape = std::move(shape), .role = role});
    return static_cast<int>(result_.tensors.size()) - 1;
  }

  // The largest magnitude around each element that the read reads, at its index.
  Expr largest_around(const ir::Read& read, const Neighbourhood& around) {
    int from = read.tensor;
    std::vector<ir::Affine> index = read.index;
    for (std::size_t d = 0; d < around.size(); ++d) {
      if (around[d].steps == 0) continue;
      from = largest_along(from, d, around[d], from == read.tensor);
      index[d].offset -= around[d].low;
    }
    return from == read.tensor ? size(ir::read(from, std::move(index), Dtype::kF64, read.pad))
                               : ir::read(from, std::move(index), Dtype::kF64, 0.0);
  }
  // A stage that does so along one dimension, for the indices that are read.
  int largest_along(int from, std::size_t d, const Reach& along, bool is_first) {
    std::vector<std::int64_t> shape = result_.tensors[static_cast<std::size_t>(from)].shape;
    te::Stage made;
    shape[d] = along.high - along.low + 1;
    std::vector<ir::Affine> index;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      made.iters.push_back({fmt::format("p{}", i), shape[i], te::IterKind::kSpatial});
      index.push_back(ir::Affine::iter(static_cast<int>(i)));
    }
    made.iters.push_back({"q", 2 * along.steps + 1, te::IterKind::kReduce});
    index[d] = index[d] + ir::Affine::iter(static_cast<int>(shape.size()), along.step) +
               ir::Affine::constant(along.low - along.steps * along.step);
    made.reduce = ir::ReduceOp::kMax;
    made.accumulator = Dtype::kF64;
    made.body = ir::read(from, std::move(index), Dtype::kF64, 0.0);
    if (is_first) made.body = size(made.body);
    made.tensor = new_tensor(result_.tensors[static_cast<std::size_t>(from)].name + "_around",
                             std::move(shape), te::TensorRole::kIntermediate);
    result_.stages.push_back(std::move(made));
    return result_.stages.back().tensor;
  }

  // Makes a stage with the same loops and another body.
  Expr reduced(const te::Stage& stage, const char* what, ir::ReduceOp op, Expr body) {
    te::Stage made = stage;
    made.tensor = tensor_beside(stage, what, te::TensorRole::kIntermediate);
    made.reduce = op;
    made.accumulator = Dtype::kF64;
    made.body = std::move(body);
    result_.stages.push_back(std::move(made));
    return element(stage, result_.stages.back().tensor, Dtype::kF64);
  }
  Expr element(const te::Stage& stage, int tensor, Dtype dtype) const {
    std::vector<ir::Affine> index;
    for (std::size_t d = 0; d < tensor_of(stage).shape.size(); ++d)
      index.push_back(ir::Affine::iter(static_cast<int>(d)));
    return ir::read(tensor, std::move(index), dtype);
  }

  // Makes the bound of a stage of a recurrence before it is computed: other stages go on with it.
  void foresee(const te::Stage& stage) {
    by_tensor_[static_cast<std::size_t>(stage.tensor)] =
        tensor_beside(stage, "bound", tensor_of(stage).role);
    foreseen_.insert(stage.tensor);
  }

  void add(const te::Stage& stage) {
    te::Stage value = stage;
    value.accumulator = widened(stage.accumulator);
    value.body = bounds_.value(stage.body);
    result_.stages.push_back(std::move(value));
    if (!with_bounds_) return;
    const bool foreseen = foreseen_.contains(stage.tensor);
    Expr bound = bound_of(stage);
    if (!bound && foreseen) bound = number(0);
    if (!bound) return;
    te::Stage made;
    made.tensor = foreseen ? by_tensor_[static_cast<std::size_t>(stage.tensor)]
                           : tensor_beside(stage, "bound", tensor_of(stage).role);
    // A scan whose elements are not exact goes on with their bounds.
    if (te::scan_of(stage) && !foreseen) {
      by_tensor_[static_cast<std::size_t>(stage.tensor)] = made.tensor;
      bound = bound_of(stage);
    }
    made.accumulator = Dtype::kF64;
    for (const te::Iterator& iter : stage.iters)
      if (iter.kind == te::IterKind::kSpatial) made.iters.push_back(iter);
    made.body = std::move(bound);
    by_tensor_[static_cast<std::size_t>(stage.tensor)] = made.tensor;
    result_.stages.push_back(std::move(made));
  }

  // The bound of an element of the stage's tensor, over the spatial iterators.
  Expr bound_of(const te::Stage& stage) {
    const Dtype dtype = stage.body->dtype;
    switch (stage.reduce) {
      case ir::ReduceOp::kNone: return bounds_.bound(stage.body);
      case ir::ReduceOp::kSum: return is_float(dtype) ? sum_bound(stage) : integer_sum_bound(stage);
      case ir::ReduceOp::kProd:
        return is_float(dtype) ? product_bound(stage) : integer_product_bound(stage);
      case ir::ReduceOp::kMax:
      case ir::ReduceOp::kMin: {
        Expr terms = bounds_.bound(stage.body);
        return terms ? reduced(stage, "bound_terms", ir::ReduceOp::kMax, std::move(terms))
                     : nullptr;
      }
    }
    return nullptr;
  }

  // units eps sum |term| and the terms' own bounds, as one sum. Where the terms are exact except
  // for a last product, the product's unit is one of the sum's, so that a sum of products costs no
  // more than a second sum.
  Expr sum_bound(const te::Stage& stage) {
    const Dtype dtype = stage.body->dtype;
    const double step = interp::unit_of(0, dtype), unit = interp::unit_of(1, dtype) - step;
    double units =
        interp::sum_units(te::terms_of(stage), dtype, interp::terms_may_be_alike(workload_, stage));
    const auto* product = std::get_if<ir::Binary>(&stage.body->value);
    const bool plain = product != nullptr && product->op == ir::BinaryOp::kMul &&
                       !bounds_.bound(product->a) && !bounds_.bound(product->b);
    if (plain) units += 1;
    Expr term = size_of_term(stage.body, plain ? 0 : 1 / (units * unit));
    double growth = 1;
    // What goes on step by step is summed up as it is written.
    const auto near = foreseen_.contains(stage.tensor) ? std::nullopt : mixed_sum(workload_, stage);
    if (near) {
      growth = allowed_growth(workload_.contract, *near);
      units *= growth;
      term =
          times(largest_around(near->a, near->around_a), largest_around(near->b, near->around_b));
      if (!plain)
        term = plus(std::move(term), times(bounds_.bound(stage.body), 1 / (units * unit)));
    }
    const Expr total = reduced(stage, "size", ir::ReduceOp::kSum, std::move(term));
    return where(at_most(total, number(interp::largest_of(dtype))),
                 plus(times(total, units * unit), number(growth * te::terms_of(stage) * step)),
                 number(kUnbounded));
  }

  // |term|, and so many times its own bound. A condition that no rounding turns stays outermost: so
  // what is summed up to a bound is a scan here, too.
  Expr size_of_term(const Expr& term, double share) {
    if (const auto* n = std::get_if<ir::Select>(&term->value);
        n != nullptr && !bounds_.bound(n->condition))
      return where(bounds_.value(n->condition), size_of_term(n->then, share),
                   size_of_term(n->otherwise, share));
    if (const auto* n = std::get_if<ir::Const>(&term->value)) return number(std::abs(n->value));
    const Expr own = share == 0 ? nullptr : bounds_.bound(term);
    return plus(size(bounds_.value(term)), times(own, share));
  }

  Expr integer_sum_bound(const te::Stage& stage) {
    Expr own = bounds_.bound(stage.body);
    if (!own) return nullptr;
    const Expr total = reduced(stage, "bound_terms", ir::ReduceOp::kSum, std::move(own));
    return Bounds::wrapped(element(stage, stage.tensor, stage.body->dtype), total,
                           stage.body->dtype);
  }

  // In another order a product may leave the range of its type on the way. Below the range, later
  // factors magnify the loss; above it, nothing is known.
  Expr product_bound(const te::Stage& stage) {
    const Dtype dtype = stage.body->dtype;
    const double step = interp::unit_of(0, dtype), unit = interp::unit_of(1, dtype) - step,
                 terms = te::terms_of(stage);
    const Expr own = bounds_.bound(stage.body), factor = plus(size(bounds_.value(stage.body)), own);
    const Expr value = size(element(stage, stage.tensor, Dtype::kF64));
    const Expr upper = own ? reduced(stage, "upper", ir::ReduceOp::kProd, factor) : value;
    const Expr large = reduced(stage, "large", ir::ReduceOp::kProd, larger(number(1), factor));
    Expr rounded = times(upper, (terms + 1) * unit);
    if (own) rounded = plus(minus(upper, value), rounded);
    return where(at_most(large, number(interp::largest_of(dtype))),
                 plus(rounded, times(large, (terms + 1) * step)), number(kUnbounded));
  }

  Expr integer_product_bound(const te::Stage& stage) {
    Expr own = bounds_.bound(stage.body);
    if (!own) return nullptr;
    const Expr worst = reduced(stage, "bound_terms", ir::ReduceOp::kMax, std::move(own));
    return where(at_most(worst, number(0)), nullptr, number(kUnbounded));
  }

  te::Workload workload_;
  const bool with_bounds_;
  std::vector<int> by_tensor_;
  Bounds bounds_;
  te::Workload result_;
  std::set<int> foreseen_;  // tensors of recurrences: their bounds have tensors from the beginning
};

// The round-off of the coarsest type to which anything is rounded.
double coarsest_of(const Expr& e) {
  struct Visitor {
    double own;
    double operator()(const ir::Const&) const { return 0; }
    double operator()(const ir::IterValue&) const { return 0; }
    double operator()(const ir::Read&) const { return 0; }
    double operator()(const ir::Lookup& n) const {
      double coarsest = 0;
      for (const Expr& index : n.index) coarsest = std::max(coarsest, coarsest_of(index));
      return coarsest;
    }
    double operator()(const ir::InRange&) const { return 0; }
    double operator()(const ir::Unary& n) const { return std::max(own, coarsest_of(n.x)); }
    double operator()(const ir::Binary& n) const {
      return std::max({own, coarsest_of(n.a), coarsest_of(n.b)});
    }
    double operator()(const ir::Select& n) const {
      return std::max({coarsest_of(n.condition), coarsest_of(n.then), coarsest_of(n.otherwise)});
    }
    double operator()(const ir::Cast& n) const { return std::max(own, coarsest_of(n.x)); }
  };
  return std::visit(Visitor{epsilon_of(e->dtype)}, e->value);
}
double coarsest_of(const te::Workload& workload) {
  double coarsest = 0;
  for (const te::Stage& stage : workload.stages) {
    const bool adds = stage.reduce == ir::ReduceOp::kSum || stage.reduce == ir::ReduceOp::kProd;
    coarsest =
        std::max({coarsest, coarsest_of(stage.body), adds ? epsilon_of(stage.body->dtype) : 0});
  }
  return coarsest;
}

// Drops stages that no output needs: bounds of tensors that only feed exact results.
void keep_needed(te::Workload& workload) {
  std::vector<bool> needed(workload.tensors.size(), false);
  for (const int t : workload.outputs()) needed[t] = true;
  // Stages of recurrences read what later ones write.
  for (bool more = true; more;) {
    more = false;
    for (std::size_t s = workload.stages.size(); s-- > 0;) {
      if (!needed[workload.stages[s].tensor]) continue;
      for (const int read : ir::tensors_of(workload.stages[s].body)) {
        more = more || !needed[read];
        needed[read] = true;
      }
    }
  }
  std::erase_if(workload.stages, [&](const te::Stage& stage) { return !needed[stage.tensor]; });
  std::vector<int> moved(workload.tensors.size(), -1);
  std::vector<te::Tensor> kept;
  for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
    const te::TensorRole role = workload.tensors[t].role;
    if (!needed[t] && role != te::TensorRole::kInput) continue;
    moved[t] = static_cast<int>(kept.size());
    kept.push_back(std::move(workload.tensors[t]));
  }
  workload.tensors = std::move(kept);
  for (te::Stage& stage : workload.stages) {
    stage.tensor = moved[stage.tensor];
    stage.body = ir::rewrite_leaves(stage.body, [&](const Expr& leaf) -> Expr {
      if (const auto* lookup = std::get_if<ir::Lookup>(&leaf->value))
        return ir::lookup(moved[lookup->tensor], lookup->index, leaf->dtype, lookup->pad);
      const auto* read = std::get_if<ir::Read>(&leaf->value);
      return read == nullptr ? leaf
                             : ir::read(moved[read->tensor], read->index, leaf->dtype, read->pad);
    });
  }
}

}  // namespace

ReferenceWorkload reference_workload(const te::Workload& workload) {
  ReferenceWorkload out = ReferenceWriter(shallow(workload), true).write();
  keep_needed(out.workload);
  return out;
}

te::Workload reference_values(const te::Workload& workload) {
  return ReferenceWriter(workload, false).write().workload;
}

Reference with_room_for_algorithms(const te::Workload& workload, Reference reference) {
  constexpr double kTimes = 8;  // what an algorithm may exceed the contract by and still be no bug
  if (workload.contract.level() < te::Numerics::kNormwise) return reference;
  for (std::size_t o = 0; o < reference.values.size(); ++o) {
    const double room = kTimes * workload.contract.max_error *
                        runner::largest_of(reference.values[o], reference.bounds[o]);
    for (double& bound : reference.bounds[o]) bound = std::max(bound, room);
  }
  return reference;
}

namespace {

// The most that a rounding makes of an output beside the largest one: the bounds have as many as a
// sum of so many terms may take.
double one_rounding(const te::Workload& workload, const Reference& reference) {
  double units = 1, most = 0;
  for (const te::Stage& stage : workload.stages)
    if (stage.reduce == ir::ReduceOp::kSum)
      units = std::max(units, interp::sum_units(te::terms_of(stage), stage.body->dtype,
                                                interp::terms_may_be_alike(workload, stage)));
  for (std::size_t o = 0; o < reference.values.size(); ++o)
    if (const double largest = runner::largest_of(reference.values[o], reference.bounds[o]);
        largest > 0)
      most = std::max(most, runner::largest_of(reference.bounds[o], reference.bounds[o]) / largest);
  return most / units;
}

}  // namespace

double allowed_error(const te::Workload& workload, bool jumps, const Reference& reference) {
  const double coarsest = coarsest_of(workload);
  double smallest = kUnbounded;
  if (jumps || coarsest > epsilon_of(Dtype::kF32)) return kUnbounded;
  for (std::size_t o = 0; o < reference.values.size(); ++o) {
    const double largest = runner::largest_of(reference.values[o], reference.bounds[o]);
    if (largest > 0) smallest = std::min(smallest, largest);
  }
  const double step =
      interp::unit_of(0, coarsest == epsilon_of(Dtype::kF32) ? Dtype::kF32 : Dtype::kF64);
  const double asked = workload.contract.max_error;
  if (smallest * asked < 1e3 * step) return kUnbounded;
  // Bounds that leave room for algorithms say nothing of a single rounding.
  const bool by_element = std::ranges::none_of(workload.stages, [&](const te::Stage& stage) {
    return mixed_sum(workload, stage).has_value();
  });
  const bool magnifies = by_element && asked >= te::Contract{}.max_error;
  return magnifies || te::saturates(workload) ? std::max(asked, one_rounding(workload, reference))
                                              : asked;
}

Result<runner::Fd> reference_file(const Reference& reference) {
  std::vector<double> all;
  for (std::size_t o = 0; o < reference.values.size(); ++o) {
    all.insert(all.end(), reference.values[o].begin(), reference.values[o].end());
    all.insert(all.end(), reference.bounds[o].begin(), reference.bounds[o].end());
  }
  return runner::make_memory_file("lathe-reference", std::as_bytes(std::span(all)));
}

}  // namespace lathe::measure
