#include "compiler/interp/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace lathe::interp {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

using Iterators = std::set<int>;

Iterators both(Iterators a, const Iterators& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// True for functions that give different operands different results. The others have ends, where
// many operands meet.
bool spreads(ir::UnaryOp op) {
  switch (op) {
    case ir::UnaryOp::kNeg:
    case ir::UnaryOp::kAbs:
    case ir::UnaryOp::kExp:
    case ir::UnaryOp::kExpm1:
    case ir::UnaryOp::kLog1p:
    case ir::UnaryOp::kLog:
    case ir::UnaryOp::kSqrt:
    case ir::UnaryOp::kRsqrt: return true;
    default: return false;
  }
}

bool is_read(const ir::Expr& e) { return std::holds_alternative<ir::Read>(e->value); }

// The iterators along which the expression takes random values if its inputs are random; null: it
// may not.
std::optional<Iterators> random_along(const te::Workload& workload, const ir::Expr& e) {
  if (const auto* n = std::get_if<ir::Read>(&e->value)) {
    const bool input =
        workload.tensors[static_cast<std::size_t>(n->tensor)].role == te::TensorRole::kInput;
    if (!input || n->pad.value_or(0) != 0) return std::nullopt;
    Iterators out;
    for (const ir::Affine& index : n->index)
      for (const ir::AffineTerm& term : index.terms) out.insert(term.iter);
    return out;
  }
  if (const auto* n = std::get_if<ir::Unary>(&e->value))
    return spreads(n->op) ? random_along(workload, n->x) : std::nullopt;
  if (const auto* n = std::get_if<ir::Cast>(&e->value))
    return is_float(e->dtype) && n->x->dtype != Dtype::kBool ? random_along(workload, n->x)
                                                             : std::nullopt;
  const auto* n = std::get_if<ir::Binary>(&e->value);
  if (!n) return std::nullopt;
  auto a = random_along(workload, n->a), b = random_along(workload, n->b);
  switch (n->op) {
    case ir::BinaryOp::kAdd:
    case ir::BinaryOp::kSub:
      if (a && b) return both(*a, *b);
      // A constant may be much larger than what is read.
      return is_read(n->b) ? a : is_read(n->a) ? b : std::nullopt;
    case ir::BinaryOp::kMul: return a && b ? both(*a, *b) : a ? a : b;
    case ir::BinaryOp::kDiv: return a;
    default: return std::nullopt;
  }
}

// The iterators of each factor of e, and whether it has a quotient.
void append_factors(const ir::Expr& e, std::vector<Iterators>& out, bool& divides) {
  const auto* n = std::get_if<ir::Binary>(&e->value);
  if (n != nullptr && n->op == ir::BinaryOp::kMul) {
    append_factors(n->a, out, divides);
    return append_factors(n->b, out, divides);
  }
  divides = divides || (n != nullptr && n->op == ir::BinaryOp::kDiv);
  if (const auto* u = std::get_if<ir::Unary>(&e->value); u && u->op == ir::UnaryOp::kAbs)
    return append_factors(u->x, out, divides);
  Iterators own;
  ir::for_each_node(e, [&](const ir::Expr& node) {
    if (const auto* value = std::get_if<ir::IterValue>(&node->value)) own.insert(value->iter);
    if (const auto* read = std::get_if<ir::Read>(&node->value))
      for (const ir::Affine& row : read->index)
        for (const ir::AffineTerm& term : row.terms) own.insert(term.iter);
  });
  out.push_back(std::move(own));
}

}  // namespace

bool terms_may_be_alike(const te::Workload& workload, const te::Stage& stage) {
  const auto along = random_along(workload, stage.body);
  for (std::size_t i = 0; i < stage.iters.size(); ++i) {
    const te::Iterator& iter = stage.iters[i];
    const bool counts = iter.kind == te::IterKind::kReduce && iter.extent > 1;
    if (counts && !(along && along->contains(static_cast<int>(i)))) return true;
  }
  return false;
}

bool may_be_factored(const te::Stage& stage) {
  if (stage.reduce != ir::ReduceOp::kSum || !is_float(stage.body->dtype)) return false;
  std::vector<Iterators> factors;
  bool divides = false;
  append_factors(stage.body, factors, divides);
  if (divides || factors.size() > 2) return true;
  for (std::size_t i = 0; i < stage.iters.size(); ++i)
    if (stage.iters[i].kind == te::IterKind::kReduce)
      for (const Iterators& factor : factors)
        if (factors.size() > 1 && !factor.contains(static_cast<int>(i))) return true;
  return false;
}

double sum_units(double terms, Dtype dtype, bool alike) {
  if (epsilon_of(dtype) > epsilon_of(Dtype::kF32)) return 8 + terms;
  return 8 + (alike ? std::max(terms / 2, std::sqrt(terms)) : std::sqrt(terms));
}

Reduction::Reduction(ir::ReduceOp op, Dtype dtype, bool alike, bool factored)
    : op_(op),
      dtype_(dtype),
      alike_(alike),
      factored_(factored),
      value_(ir::identity_of(op, dtype)) {}

void Reduction::add(const Value& term) {
  ++terms_;
  const bool real_sum = op_ == ir::ReduceOp::kSum && is_float(dtype_);
  const Value step =
      real_sum ? exact(value_ + term.value) : accumulate(op_, value_, term.value, dtype_);
  value_ = step.value;
  // An integer that f64 does not hold is lost for what follows, even if that wraps back.
  if (!is_float(dtype_) && !(step.bound < kFar)) bound_ = kFar;
  if (op_ == ir::ReduceOp::kSum) {
    bound_ += term.bound;
    if (std::isfinite(term.value)) size_ += std::abs(term.value);
    return;
  }
  bound_ = std::max(bound_, term.bound);
  if (op_ != ir::ReduceOp::kProd) return;
  upper_ *= std::abs(term.value) + term.bound;
  large_ *= std::max(1.0, std::abs(term.value) + term.bound);
  small_ *= std::clamp(std::abs(term.value) - term.bound, 0.0, 1.0);
}

Value Reduction::sum() const {
  if (!(bound_ < kFar)) return {value_, kFar};
  if (!is_float(dtype_)) return apply(ir::BinaryOp::kAdd, {value_, bound_}, exact(0), dtype_);
  // A finite result may overflow on the way in another order, even towards the infinity of the
  // other sign.
  if (!std::isfinite(value_)) {
    const bool known = std::isnan(value_) || size_ <= largest_of(dtype_) / 2;
    return {value_, known && !factored_ ? 0 : kFar};
  }
  const double bound = bound_ + sum_units(terms_, dtype_, alike_) * 2 * epsilon_of(dtype_) * size_;
  return {value_, size_ + bound <= largest_of(dtype_) ? bound : kFar};
}

// In another order a product may leave the range of its type on the way, upwards or downwards.
Value Reduction::product() const {
  if (!(bound_ < kFar)) return {value_, kFar};
  if (!is_float(dtype_)) return {value_, bound_ == 0 ? 0 : kFar};
  if (std::isnan(value_)) return {value_, 0};
  const double step = unit_of(0, dtype_);
  if (std::isinf(value_))
    return {value_, small_ > step / epsilon_of(dtype_) && bound_ == 0 ? 0 : kFar};
  const double bound = upper_ * (1 + 2 * terms_ * epsilon_of(dtype_)) - std::abs(value_) +
                       terms_ * step * large_ + unit_of(value_, dtype_);
  return {value_, large_ <= largest_of(dtype_) ? bound : kFar};
}

Value Reduction::result() const {
  switch (op_) {
    case ir::ReduceOp::kSum: return sum();
    case ir::ReduceOp::kProd: return product();
    case ir::ReduceOp::kMax:
    case ir::ReduceOp::kMin:
    case ir::ReduceOp::kNone: break;
  }
  return {value_, bound_};
}

}  // namespace lathe::interp
