#include "compiler/te/saturation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lathe::te {
namespace {

using ir::BinaryOp, ir::UnaryOp;

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool is_bounded() const { return std::isfinite(low) && std::isfinite(high); }
};

// Between which numbers a value lies, as far as this is simple to say.
class Intervals {
 public:
  explicit Intervals(std::size_t tensors) : of_tensor_(tensors) {}
  Interval& of_tensor(int tensor) { return of_tensor_[static_cast<std::size_t>(tensor)]; }

  Interval of(const ir::Expr& e) {
    return std::visit([this](const auto& n) { return interval(n); }, e->value);
  }

 private:
  Interval interval(const ir::Const& n) { return {n.value, n.value}; }
  Interval interval(const ir::Read& n) {
    const Interval x = of_tensor(n.tensor);
    if (!n.pad) return x;
    return {std::min(x.low, *n.pad), std::max(x.high, *n.pad)};
  }
  Interval interval(const ir::Lookup& n) {
    const Interval x = of_tensor(n.tensor);
    if (!n.pad) return x;
    return {std::min(x.low, *n.pad), std::max(x.high, *n.pad)};
  }
  Interval interval(const ir::Cast& n) { return of(n.x); }
  Interval interval(const ir::Select& n) {
    const Interval a = of(n.then), b = of(n.otherwise);
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
  }
  Interval interval(const ir::Unary& n) {
    const Interval x = of(n.x);
    switch (n.op) {
      case UnaryOp::kNeg: return {-x.high, -x.low};
      case UnaryOp::kAbs: return {0, std::max(std::abs(x.low), std::abs(x.high))};
      case UnaryOp::kTanh:
      case UnaryOp::kErf:
      case UnaryOp::kSin:
      case UnaryOp::kCos:
      case UnaryOp::kSign: return {-1, 1};
      case UnaryOp::kSigmoid: return {0, 1};
      case UnaryOp::kExp: return {std::exp(x.low), std::exp(x.high)};
      case UnaryOp::kExpm1: return {std::expm1(x.low), std::expm1(x.high)};
      case UnaryOp::kIsNan:
      case UnaryOp::kIsInf: return {0, 1};
      case UnaryOp::kFloor:
      case UnaryOp::kCeil:
      case UnaryOp::kRound: return x;
      case UnaryOp::kLog:
      case UnaryOp::kSqrt:
      case UnaryOp::kRsqrt:
      case UnaryOp::kLog1p:
      case UnaryOp::kTan:
      case UnaryOp::kBitNot:
      case UnaryOp::kNot: return {};
    }
    return {};
  }
  Interval interval(const ir::Binary& n) {
    const Interval a = of(n.a), b = of(n.b);
    if (n.op == BinaryOp::kMin) return {std::min(a.low, b.low), std::min(a.high, b.high)};
    if (n.op == BinaryOp::kMax) return {std::max(a.low, b.low), std::max(a.high, b.high)};
    if (n.op == BinaryOp::kAdd) return {a.low + b.low, a.high + b.high};
    if (n.op == BinaryOp::kSub) return {a.low - b.high, a.high - b.low};
    if (n.op == BinaryOp::kMul && a.is_bounded() && b.is_bounded()) {
      const auto [low, high] =
          std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
      return {low, high};
    }
    return {};
  }
  Interval interval(const ir::IterValue&) { return {}; }
  Interval interval(const ir::InRange&) { return {0, 1}; }

  std::vector<Interval> of_tensor_;
};

}  // namespace

bool saturates(const Workload& workload, Saturated what) {
  Intervals intervals(workload.tensors.size());
  std::vector<bool> bounded(workload.tensors.size(), false);  // though it is of what is unbounded
  std::vector<bool> counts(workload.tensors.size(), what == Saturated::kAnything);
  for (const Stage& stage : workload.stages) {
    const Interval value = intervals.of(stage.body);
    const std::vector<int> read = ir::tensors_of(stage.body);
    const auto was_bounded = [&](int tensor) { return bounded[static_cast<std::size_t>(tensor)]; };
    const auto is_counted = [&](int tensor) { return counts[static_cast<std::size_t>(tensor)]; };
    const bool free = std::ranges::any_of(read, [&](int tensor) {
      return was_bounded(tensor) ||
             (is_counted(tensor) && !intervals.of_tensor(tensor).is_bounded());
    });
    const auto id = static_cast<std::size_t>(stage.tensor);
    if (stage.reduce == ir::ReduceOp::kSum || std::ranges::any_of(read, is_counted))
      counts[id] = true;
    const bool reduces = stage.reduce != ir::ReduceOp::kNone;
    if (reduces && std::ranges::any_of(read, was_bounded)) return true;
    if (free && value.is_bounded() && is_float(stage.body->dtype)) {
      if (reduces || workload.tensors[id].role != TensorRole::kIntermediate) return true;
      bounded[id] = true;
    }
    const bool keeps =
        !reduces || stage.reduce == ir::ReduceOp::kMax || stage.reduce == ir::ReduceOp::kMin;
    if (keeps) intervals.of_tensor(stage.tensor) = value;
  }
  return false;
}

}  // namespace lathe::te
