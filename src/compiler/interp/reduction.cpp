#include "compiler/interp/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::interp {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

}  // namespace

double sum_units(double terms, Dtype dtype) {
  return 8 + (epsilon_of(dtype) > epsilon_of(Dtype::kF32) ? terms : std::sqrt(terms));
}

Reduction::Reduction(ir::ReduceOp op, Dtype dtype)
    : op_(op), dtype_(dtype), value_(ir::identity_of(op, dtype)) {}

void Reduction::add(const Value& term) {
  ++terms_;
  const bool real_sum = op_ == ir::ReduceOp::kSum && is_float(dtype_);
  value_ = real_sum ? value_ + term.value : accumulate(op_, value_, term.value, dtype_);
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
  // What is finite may overflow on the way, also against an infinity of the other sign.
  if (!std::isfinite(value_)) return {value_, std::isnan(value_) || size_ <= largest_of(dtype_) / 2 ? 0 : kFar};
  const double bound = bound_ + sum_units(terms_, dtype_) * 2 * epsilon_of(dtype_) * size_;
  return {value_, size_ + bound <= largest_of(dtype_) ? bound : kFar};
}

// In another order a product may leave the range of the type on the way, upwards or downwards.
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
