// Slow scalars that stay the same while a loop runs, as the root in a norm and the sum of a
// softmax: they are computed before the loop, with the loads that they need.
#include <algorithm>
#include <utility>

#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/quotients.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;

namespace {

constexpr int kDeep = 8;  // expressions nested deeper are not looked into

// True if it takes many times as long as a multiplication. Nothing else is moved: a load that is
// part of the instruction that uses it costs no register.
bool is_slow(const Expr& e, int depth = 0) {
  if (!is_float(e->type.dtype) || e->type.lanes != 1 || depth == kDeep) return false;
  if (const auto* n = std::get_if<Unary>(&e->value); n != nullptr && n->op == UnaryOp::kSqrt)
    return true;
  if (const auto* n = std::get_if<Binary>(&e->value); n != nullptr && n->op == BinaryOp::kDiv)
    return true;
  bool any = false;
  each_operand(*e, [&](const Expr& x) { any = any || is_slow(x, depth + 1); });
  return any;
}

}  // namespace

template <class Make>
llvm::Value* FunctionEmitter::moving(Make&& make) {
  const bool before = std::exchange(moving_, true);
  llvm::Value* out = make();
  moving_ = before;
  return out;
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Broadcast& n) {
  const auto spread = [&] { return splat(value(n.x), e.type.lanes); };
  return is_slow(n.x) ? moving(spread) : spread();
}

// The outermost scope from `depth` on, with every loop inside it sure to run, where the buffer is
// not written to.
int FunctionEmitter::home_of_load(int buffer, int depth) const {
  const auto& buffers = m_.program.buffers;
  const Buffer& read = buffers[static_cast<std::size_t>(buffer)];
  for (int scope = scopes_.current(); scope > depth; --scope) {
    const auto& writes = writes_[static_cast<std::size_t>(scope)];
    if (!writes || std::ranges::any_of(*writes, [&](int written) {
          return written == buffer || may_alias(read, buffers[static_cast<std::size_t>(written)]);
        }))
      return scope;
  }
  return depth;
}

llvm::Value* FunctionEmitter::load_before_loops(const Node& e, const Load& n) {
  llvm::Value* address = pointer(n.buffer, n.index);
  const int home = home_of_load(n.buffer, scopes_.depth_of(address));
  const ValueKey key{
      kLoadOperation,
      {reinterpret_cast<std::uintptr_t>(m_.type(e.type)),
       versions_[static_cast<std::size_t>(n.buffer)], reinterpret_cast<std::uintptr_t>(address)}};
  if (llvm::Value* known = scopes_.find_in(home, key)) return known;
  return scopes_.add(key, home, [&] { return load_at(n.buffer, address, e.type, nullptr); });
}

// x / d for all lanes alike, where d stays the same in a loop: two multiplications instead of a
// division, by 1 / (d s) and by s, a power of two with which neither is beyond the normal numbers.
// The quotient has the two roundings of 2^-24 (f32) that a division's bound allows. Null where d
// belongs to the innermost loop, or where the quotient has to be that of a division.
llvm::Value* FunctionEmitter::divide_by_invariant(const Binary& n, llvm::Value* x) {
  const auto* divisor = std::get_if<Broadcast>(&n.b->value);
  if (divisor == nullptr || m_.decides_by_quotients || is_given(m_.program, divisor->x))
    return nullptr;
  llvm::Value* d = moving([&] { return value(divisor->x); });
  if (llvm::isa<llvm::Constant>(d) || scopes_.depth_of(d) >= scopes_.current()) return nullptr;
  const bool narrow = n.b->type.dtype == Dtype::kF32;
  const double far = narrow ? 0x1p100 : 0x1p1000, scale = narrow ? 0x1p64 : 0x1p512;
  const auto number = [&](double v) { return llvm::ConstantFP::get(d->getType(), v); };
  llvm::Value* s = pure(kPowerOperation, nullptr, {d}, true, [&] {
    llvm::Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, d);
    llvm::Value* up =
        b_.CreateSelect(b_.CreateFCmpOLT(size, number(1 / far)), number(scale), number(1));
    return b_.CreateSelect(b_.CreateFCmpOGT(size, number(far)), number(1 / scale), up);
  });
  llvm::Value* reciprocal = pure(kReciprocalOperation, nullptr, {d, s}, true,
                                 [&] { return b_.CreateFDiv(number(1), b_.CreateFMul(d, s)); });
  const auto spread = [&](llvm::Value* scalar) {
    return moving([&] { return splat(scalar, n.b->type.lanes); });
  };
  llvm::Value *r = spread(reciprocal), *power = spread(s);
  return b_.CreateFMul(b_.CreateFMul(x, r), power);
}

}  // namespace lathe::codegen
