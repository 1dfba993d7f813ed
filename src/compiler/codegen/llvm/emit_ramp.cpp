// Numbers that grow from lane to lane, and comparisons of them.
#include <algorithm>
#include <cmath>

#include "compiler/codegen/llvm/emit.h"

namespace lathe::codegen {

using namespace flat;

namespace {

// An integer as a sum of something and of a constant.
std::pair<Expr, std::int64_t> apart_from_constant(const Expr& e) {
  if (const auto* sum = std::get_if<Binary>(&e->value); sum && sum->op == BinaryOp::kAdd)
    if (const auto constant = as_int(sum->b)) return {sum->a, *constant};
  return {e, 0};
}

constexpr double kNear = 0x1p62;

}  // namespace

// A number that the expression's size stays below while nothing in it wraps.
double FunctionEmitter::most_of(const Expr& e) const {
  constexpr double kLongestLoop = 0x1p40;
  if (e->type.dtype != Dtype::kI64 || (e->contents & contents::kData) != 0) return HUGE_VAL;
  if (const auto* n = std::get_if<IntImm>(&e->value))
    return std::abs(static_cast<double>(n->value));
  if (const auto* n = std::get_if<Var>(&e->value)) {
    const auto let = lets_.find(n->id);
    return let == lets_.end() ? kLongestLoop : let->second;
  }
  const auto* n = std::get_if<Binary>(&e->value);
  if (n == nullptr) return HUGE_VAL;
  const double a = most_of(n->a), b = most_of(n->b);
  switch (n->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return a + b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv:
    case BinaryOp::kMod: return a;
    case BinaryOp::kMin:
    case BinaryOp::kMax: return std::max(a, b);
    default: return HUGE_VAL;
  }
}

// What is constant in the base joins the steps, so that ramps a constant apart, as those of a loop
// that was written out, share a vector.
llvm::Value* FunctionEmitter::expression(const Node& e, const Ramp& n) {
  const auto [base, offset] = apart_from_constant(n.base);
  llvm::Value* scalar = value(base);
  if (m_.machine.on_grid && reach_of(e) >= kShortReach) scalar = whole(scalar, e.type.dtype);
  llvm::Value* first = splat(scalar, e.type.lanes);
  llvm::Type* element = first->getType()->getScalarType();
  const auto number = [&](std::uint64_t value) {
    return llvm::ConstantInt::get(element, value, true);
  };
  return pure(
      kRampOperation, first->getType(), {first, number(static_cast<std::uint64_t>(offset))}, true,
      [&] {
        std::vector<llvm::Constant*> steps;
        const auto stride = static_cast<std::uint64_t>(n.stride);
        for (int lane = 0; lane < e.type.lanes; ++lane)
          steps.push_back(number(static_cast<std::uint64_t>(offset) + stride * lane));
        return b_.CreateAdd(first, llvm::ConstantVector::get(steps));
      },
      static_cast<std::uint64_t>(n.stride));
}

// base + lane < n is lane < n - base: a comparison of 32-bit lanes with a scalar computed outside
// of the loop, instead of one of 64-bit lanes that fills several registers.
llvm::Value* FunctionEmitter::lane_mask(const Node& e, const Binary& n) {
  if (e.type.lanes == 1 || n.a->type.dtype != Dtype::kI64) return nullptr;
  if (n.op != BinaryOp::kLt && n.op != BinaryOp::kLe) return nullptr;
  const auto* left = std::get_if<Ramp>(&n.a->value);
  const auto* right = std::get_if<Ramp>(&n.b->value);
  const auto* scalar = std::get_if<Broadcast>(&(left ? n.b : n.a)->value);
  const Ramp* line = left ? left : right;
  if (!line || line->stride != 1 || !scalar) return nullptr;
  // Lanes below (left) or from (right) `bound` on.
  const bool one_more = left ? n.op == BinaryOp::kLe : n.op == BinaryOp::kLt;
  const int lanes = e.type.lanes;
  Expr n_near = scalar->x;
  // It may be so far away that n - base wraps.
  if (most_of(n_near) + most_of(line->base) > kNear) {
    n_near = binary(BinaryOp::kMin, n_near, binary(BinaryOp::kAdd, line->base, int_imm(lanes)));
    n_near = binary(BinaryOp::kMax, n_near, binary(BinaryOp::kSub, line->base, int_imm(1)));
  }
  const Expr bound =
      binary(BinaryOp::kAdd, binary(BinaryOp::kSub, n_near, line->base), int_imm(one_more));
  llvm::Value* clamped =
      value(binary(BinaryOp::kMax, binary(BinaryOp::kMin, bound, int_imm(lanes)), int_imm(0)));
  return pure(
      kLaneMaskOperation, left ? this : nullptr, {clamped}, true,
      [&] {
        std::vector<llvm::Constant*> numbers;
        for (int lane = 0; lane < lanes; ++lane)
          numbers.push_back(b_.getInt32(static_cast<std::uint32_t>(lane)));
        llvm::Value* all = llvm::ConstantVector::get(numbers);
        llvm::Value* limit = b_.CreateVectorSplat(static_cast<unsigned>(lanes),
                                                  b_.CreateTrunc(clamped, b_.getInt32Ty()));
        return left ? b_.CreateICmpSLT(all, limit) : b_.CreateICmpSGE(all, limit);
      },
      static_cast<std::uint64_t>(lanes));
}

}  // namespace lathe::codegen
