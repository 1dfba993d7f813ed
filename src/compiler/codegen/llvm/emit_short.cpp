// Indices of 32 bits, where a device needs more time and registers for those of 64: a number of
// which it is known that it is small enough has an i32, and where it meets one of 64 bits, it is
// extended. Also what is known of how addresses are aligned.
#include <cmath>
#include <numeric>

#include "compiler/codegen/llvm/emit.h"

namespace lathe::codegen {

using namespace flat;

namespace {

constexpr std::int64_t kEnough = 1 << 20;  // larger multiples are not told apart
// What is promised of where tensors begin, and what loads and stores of vectors need at most.
constexpr std::int64_t kTensorBytes = 16, kAreaBytes = 64;

double reach_of_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool: return 1;
    case Dtype::kI8: return 0x1p7;
    case Dtype::kU8: return 0x1p8;
    case Dtype::kI16: return 0x1p15;
    case Dtype::kU16: return 0x1p16;
    default: return HUGE_VAL;
  }
}

}  // namespace

// A number that an index's size stays below or at; infinite where none is known.
double FunctionEmitter::reach(const Expr& e) {
  if (!m_.machine.on_grid || e->type.dtype != Dtype::kI64) return HUGE_VAL;
  if (const auto known = known_reaches_.find(e.get()); known != known_reaches_.end())
    return known->second.second;
  const double out = reach_of(*e);
  known_reaches_.emplace(e.get(), std::pair(e, out));
  return out;
}

double FunctionEmitter::reach_of(const Node& e) {
  if (e.type.dtype != Dtype::kI64) return HUGE_VAL;
  if (const auto* n = std::get_if<IntImm>(&e.value)) return std::abs(static_cast<double>(n->value));
  if (const auto* n = std::get_if<Broadcast>(&e.value)) return reach(n->x);
  if (const auto* n = std::get_if<Cast>(&e.value)) return reach_of_type(n->x->type.dtype);
  if (const auto* n = std::get_if<Select>(&e.value))
    return std::max(reach(n->then), reach(n->otherwise));
  if (const auto* n = std::get_if<Ramp>(&e.value))
    return reach(n->base) + std::abs(static_cast<double>(n->stride)) * e.type.lanes;
  if (const auto* n = std::get_if<Var>(&e.value)) {
    const auto known = reaches_.find(n->id);
    return known == reaches_.end() ? HUGE_VAL : known->second;
  }
  const auto* n = std::get_if<Binary>(&e.value);
  if (n == nullptr) return HUGE_VAL;
  const double a = reach(n->a), b = reach(n->b);
  switch (n->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return a + b;
    case BinaryOp::kMul: return a == 0 || b == 0 ? 0 : a * b;
    case BinaryOp::kDiv: return a;
    case BinaryOp::kMod: return std::min(a, b);
    case BinaryOp::kMin:
    case BinaryOp::kMax: return std::max(a, b);
    default: return HUGE_VAL;
  }
}

bool FunctionEmitter::is_short(const Expr& e) { return reach(e) < kShortReach; }

// Known not to be negative, also where numbers are so large that a sum of them wraps.
bool FunctionEmitter::is_natural(const Expr& e) {
  constexpr double kFar = 0x1p62;
  if (reach(e) >= kFar) return false;
  if (const auto* n = std::get_if<IntImm>(&e->value)) return n->value >= 0;
  if (const auto* n = std::get_if<Var>(&e->value)) return naturals_.contains(n->id);
  if (const auto* n = std::get_if<Broadcast>(&e->value)) return is_natural(n->x);
  const auto* n = std::get_if<Binary>(&e->value);
  if (n == nullptr) return false;
  switch (n->op) {
    case BinaryOp::kMax: return is_natural(n->a) || is_natural(n->b);
    case BinaryOp::kMod: return is_natural(n->a);
    case BinaryOp::kAdd:
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMin: return is_natural(n->a) && is_natural(n->b);
    default: return false;
  }
}

// A number of that type with all its bits.
llvm::Value* FunctionEmitter::whole(Value* x, Dtype dtype) {
  if (dtype != Dtype::kI64 || x->getType()->getScalarSizeInBits() != 32) return x;
  llvm::Type* type = b_.getInt64Ty();
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType()))
    type = llvm::FixedVectorType::get(type, vector->getNumElements());
  return pure(kConvertOperation, type, {x}, true, [&] { return b_.CreateSExt(x, type); });
}

// Makes operands alike; both have 64 bits after it, unless they may be short and are.
void FunctionEmitter::match(Dtype dtype, Value*& a, Value*& b, bool shortened) {
  if (dtype != Dtype::kI64 || (shortened && a->getType() == b->getType())) return;
  a = whole(a, dtype);
  b = whole(b, dtype);
}

// Of which the index is known to be a multiple.
std::int64_t FunctionEmitter::multiple_of(const Expr& e) const {
  if (!m_.machine.on_grid) return 1;
  if (const auto value = as_int(e))
    return *value == 0 ? kEnough : std::gcd(std::abs(*value), kEnough);
  if (const auto* n = std::get_if<Var>(&e->value)) {
    const auto known = multiples_.find(n->id);
    return known == multiples_.end() ? 1 : known->second;
  }
  if (const auto* n = std::get_if<Select>(&e->value))
    return std::gcd(multiple_of(n->then), multiple_of(n->otherwise));
  const auto* n = std::get_if<Binary>(&e->value);
  if (n == nullptr) return 1;
  const std::int64_t a = multiple_of(n->a);
  switch (n->op) {
    case BinaryOp::kMul: return std::gcd(a * multiple_of(n->b), kEnough);
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMod:
    case BinaryOp::kMin:
    case BinaryOp::kMax: return std::gcd(a, multiple_of(n->b));
    case BinaryOp::kDiv: {
      const auto by = as_int(n->b);
      return by && *by > 0 && a % *by == 0 ? a / *by : 1;
    }
    default: return 1;
  }
}

// The sum of some terms in bytes, in 32 bits where that is enough.
llvm::Value* FunctionEmitter::offset_of(std::span<const Term> terms) {
  double most = 0;
  bool all_short = true;
  for (const Term& term : terms) {
    most += term.reach * std::abs(static_cast<double>(term.bytes));
    all_short = all_short && term.value->getType()->isIntegerTy(32);
  }
  Value* sum = nullptr;
  for (const Term& term : terms) {
    const bool is_enough = all_short && most < kShortReach;
    Value* part = scaled(is_enough ? term.value : whole(term.value, Dtype::kI64), term.bytes);
    sum = sum == nullptr ? part : pure(kOffsetOperation, nullptr, {sum, part}, true, [&] {
      return b_.CreateAdd(sum, part, "", false, true);
    });
  }
  return sum;
}

void FunctionEmitter::remember_alignment(int buffer, const Address& address, const Value* at) {
  if (!m_.machine.on_grid) return;
  const Buffer& b = m_.program.buffers[static_cast<std::size_t>(buffer)];
  std::int64_t align = kTensorBytes;
  switch (b.scope) {
    case Scope::kConstant:
    case Scope::kGlobal:
    case Scope::kGroup: align = std::gcd(kAreaBytes, b.slot); break;
    default: break;
  }
  for (const Term& term : address.terms) align = std::gcd(align, term.bytes * term.multiple);
  align = std::gcd(align, address.displacement);
  std::uint64_t& known = aligned_[at];
  known = std::max(known, static_cast<std::uint64_t>(align));
}

llvm::Align FunctionEmitter::align_at(const Value* address, Type type) const {
  const auto element = static_cast<std::uint64_t>(size_of(type.dtype));
  const auto known = aligned_.find(address);
  if (known == aligned_.end() || type.lanes == 1) return llvm::Align(element);
  const std::uint64_t bytes = known->second & -known->second;
  return llvm::Align(std::max(element, std::min<std::uint64_t>(bytes, kTensorBytes)));
}

}  // namespace lathe::codegen
