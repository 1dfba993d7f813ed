// Expressions without memory.
#include <numeric>

#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/half.h"

namespace lathe::codegen {

using namespace flat;
using llvm::Intrinsic::ID;

namespace {

bool is_narrow(Dtype dtype) { return dtype == Dtype::kF16 || dtype == Dtype::kBF16; }
llvm::Type* with_lanes(llvm::Type* element, llvm::Type* like) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

// A division by a constant other than 0 and -1 cannot trap, so it may be computed before it is
// known to be needed.
bool may_trap(BinaryOp op, const llvm::Value* divisor) {
  if (op != BinaryOp::kDiv && op != BinaryOp::kMod) return false;
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(divisor);
  return !constant || constant->isZero() || constant->isMinusOne();
}

// Whether LLVM may know some lanes to be 0, as it does of those that a masked load leaves out.
bool may_be_known_zero(const llvm::Value* value) {
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    const llvm::Constant* splat = constant->getSplatValue();
    return splat == nullptr || splat->isZeroValue();
  }
  if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(value))
    return !shuffle->isZeroEltSplat();
  return !llvm::isa<llvm::LoadInst>(value);
}

// LLVM 19 takes 0 / 0 for 0 in lanes of which it knows both operands to be 0, and drops the select
// that says what is there instead of the quotient. It does not look into a constrained division.
llvm::Value* divide(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) {
  if (!x->getType()->isVectorTy() || !may_be_known_zero(x) || !may_be_known_zero(y))
    return b.CreateFDiv(x, y);
  return b.CreateConstrainedFPBinOp(llvm::Intrinsic::experimental_constrained_fdiv, x, y, nullptr,
                                    "", nullptr, llvm::RoundingMode::NearestTiesToEven,
                                    llvm::fp::ebIgnore);
}

}  // namespace

llvm::Value* FunctionEmitter::value(const Expr& e) {
  if (is_short(e))
    if (const auto constant = as_int(e)) return b_.getInt32(static_cast<std::uint32_t>(*constant));
  if (const auto known = memo_.find(e.get()); known != memo_.end()) return known->second.second;
  llvm::Value* out = std::visit([&](const auto& n) { return expression(*e, n); }, e->value);
  if (e.use_count() > 1) memo_.emplace(e.get(), std::pair(e, out));
  return out;
}

llvm::Value* FunctionEmitter::expression(const Node& e, const IntImm& n) {
  return llvm::ConstantInt::get(m_.type(e.type), static_cast<std::uint64_t>(n.value), true);
}

llvm::Value* FunctionEmitter::expression(const Node& e, const FloatImm& n) {
  llvm::Type* type = m_.type(e.type);
  if (!type->isIntegerTy() && !type->isHalfTy()) return llvm::ConstantFP::get(type, n.value);
  const auto bits = e.type.dtype == Dtype::kF16 ? f32_to_f16(static_cast<float>(n.value))
                                                : f32_to_bf16(static_cast<float>(n.value));
  if (type->isIntegerTy()) return b_.getInt16(bits);
  return llvm::ConstantFP::get(m_.context,
                               llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits)));
}

llvm::Value* FunctionEmitter::expression(const Node&, const Var& n) {
  const auto found = vars_.find(n.id);
  LATHE_CHECK(found != vars_.end(), "variable {} is used before it is defined", n.id);
  return found->second;
}

llvm::Value* FunctionEmitter::expression(const Node&, const RegRead& n) {
  return reg_or_poison(n.reg);
}

llvm::Value* FunctionEmitter::splat(llvm::Value* x, int lanes) {
  if (lanes == 1 || x->getType()->isVectorTy()) return x;
  return pure(
      kSplatOperation, nullptr, {x}, moving_ || x->getType()->isIntegerTy(),
      [&] { return b_.CreateVectorSplat(static_cast<unsigned>(lanes), x); },
      static_cast<std::uint64_t>(lanes));
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Reduce& n) {
  const Dtype dtype = e.type.dtype;
  llvm::Value* all = whole(widen(value(n.x), dtype), dtype);
  const auto half = [&](llvm::Value* x, int first, int count) {
    std::vector<int> which(static_cast<std::size_t>(count));
    std::iota(which.begin(), which.end(), first);
    return b_.CreateShuffleVector(x, which);
  };
  llvm::Value* out = pure(kReduceOperation + static_cast<int>(n.op),
                          is_unsigned(dtype) ? this : nullptr, {all}, false, [&]() -> llvm::Value* {
                            llvm::Value* x = all;
                            for (int lanes = n.x->type.lanes / 2; lanes >= 1; lanes /= 2) {
                              llvm::Value *low = half(x, 0, lanes), *high = half(x, lanes, lanes);
                              x = is_float(dtype) ? float_binary(n.op, low, high)
                                                  : int_binary(n.op, is_unsigned(dtype), low, high);
                            }
                            return b_.CreateExtractElement(x, std::uint64_t{0});
                          });
  return narrow(out, dtype);
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Slide& n) {
  const Dtype dtype = e.type.dtype;
  const int own = n.x->type.lanes;
  llvm::Value* x = whole(widen(value(n.x), dtype), dtype);
  llvm::Value* fill = whole(widen(value(n.fill), dtype), dtype);
  llvm::Value* out = pure(
      kSlideOperation, nullptr, {x, fill}, false,
      [&]() -> llvm::Value* {
        if (e.type.lanes == 1)
          return b_.CreateExtractElement(x, static_cast<std::uint64_t>(n.from));
        std::vector<int> which;
        for (int l = n.from; l < n.from + e.type.lanes; ++l)
          which.push_back(l >= 0 && l < own ? l : own);
        llvm::Value* filled = b_.CreateVectorSplat(static_cast<unsigned>(own), fill);
        return b_.CreateShuffleVector(x, filled, which);
      },
      static_cast<std::uint64_t>(e.type.lanes) << 32U ^ static_cast<std::uint32_t>(n.from));
  return narrow(out, dtype);
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Select& n) {
  llvm::Value *c = value(n.condition), *t = value(n.then), *o = value(n.otherwise);
  match(e.type.dtype, t, o, true);
  return pure(kSelectOperation, nullptr, {c, t, o}, moving_ || !is_float(e.type.dtype),
              [&] { return b_.CreateSelect(c, t, o); });
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Fma& n) {
  const Dtype dtype = e.type.dtype;
  const auto operand = [&](const Expr& x) { return whole(widen(value(x), dtype), dtype); };
  llvm::Value *a = operand(n.a), *b = operand(n.b), *c = operand(n.c);
  const bool integer = !is_float(dtype);
  llvm::Value* out = pure(kFmaOperation, nullptr, {a, b, c}, moving_ || integer, [&] {
    if (integer) return b_.CreateAdd(b_.CreateMul(a, b), c);
    if (!m_.machine.has_fma) return b_.CreateFAdd(b_.CreateFMul(a, b), c);
    return static_cast<llvm::Value*>(
        b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c}));
  });
  return narrow(out, dtype);
}

llvm::Value* FunctionEmitter::expression(const Node&, const Unary& n) {
  const Dtype dtype = n.x->type.dtype;
  llvm::Value* x = whole(widen(value(n.x), dtype), dtype);
  const bool integer = !is_float(dtype);
  const bool movable = moving_ || integer;
  llvm::Value* out =
      pure(kUnaryOperation + static_cast<int>(n.op), is_unsigned(dtype) ? this : nullptr, {x},
           movable, [&]() -> llvm::Value* {
             if (!integer) return float_unary(n.op, x);
             if (n.op == UnaryOp::kNeg) return b_.CreateNeg(x);
             if (n.op == UnaryOp::kNot) return b_.CreateNot(x);
             if (n.op == UnaryOp::kAbs && is_unsigned(dtype)) return x;
             if (n.op == UnaryOp::kAbs)
               return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
             m_.refuse(fmt::format("{} of {}", ir::name_of(n.op), name_of(dtype)));
             return x;
           });
  return narrow(out, dtype);
}

llvm::Value* FunctionEmitter::float_unary(UnaryOp op, llvm::Value* x) {
  const auto intrinsic = [&](ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  switch (op) {
    case UnaryOp::kNeg: return b_.CreateFNeg(x);
    case UnaryOp::kAbs: return intrinsic(llvm::Intrinsic::fabs);
    case UnaryOp::kSqrt: return intrinsic(llvm::Intrinsic::sqrt);
    case UnaryOp::kRsqrt:
      return b_.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0),
                           intrinsic(llvm::Intrinsic::sqrt));
    case UnaryOp::kFloor:
      return m_.machine.has_round ? intrinsic(llvm::Intrinsic::floor)
                                  : round_without_hardware(x, op);
    case UnaryOp::kCeil:
      return m_.machine.has_round ? intrinsic(llvm::Intrinsic::ceil)
                                  : round_without_hardware(x, op);
    case UnaryOp::kRound:
      return m_.machine.has_round ? intrinsic(llvm::Intrinsic::roundeven)
                                  : round_without_hardware(x, op);
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kTanh:
    case UnaryOp::kErf:
    case UnaryOp::kSigmoid:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan:
    case UnaryOp::kLog1p:
    case UnaryOp::kExpm1:
    case UnaryOp::kSign:
    case UnaryOp::kBitNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf:
    case UnaryOp::kNot: break;
  }
  m_.refuse(fmt::format("{} (lowering expands it)", ir::name_of(op)));
  return x;
}

// Adding and taking off 2^mantissa rounds to the nearest integer; then one is taken off (put on)
// where that was the wrong way. Larger numbers are integers already. The sign is kept for zeros.
llvm::Value* FunctionEmitter::round_without_hardware(llvm::Value* x, UnaryOp op) {
  llvm::Type* type = x->getType();
  const bool single = type->getScalarType()->isFloatTy();
  llvm::Value* huge = llvm::ConstantFP::get(type, single ? 0x1p23 : 0x1p52);
  llvm::Value* one = llvm::ConstantFP::get(type, 1.0);
  llvm::Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  const auto with_sign = [&](llvm::Value* v) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, v, x);
  };
  llvm::Value* near = with_sign(b_.CreateFSub(b_.CreateFAdd(size, huge), huge));
  if (op == UnaryOp::kRound) return b_.CreateSelect(b_.CreateFCmpOLT(size, huge), near, x);
  const bool up = op == UnaryOp::kCeil;
  llvm::Value* wrong = up ? b_.CreateFCmpOLT(near, x) : b_.CreateFCmpOGT(near, x);
  llvm::Value* other = up ? b_.CreateFAdd(near, one) : b_.CreateFSub(near, one);
  llvm::Value* rounded = with_sign(b_.CreateSelect(wrong, other, near));
  return b_.CreateSelect(b_.CreateFCmpOLT(size, huge), rounded, x);
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Binary& n) {
  if (llvm::Value* mask = lane_mask(e, n)) return mask;
  const Dtype dtype = n.a->type.dtype;
  llvm::Value* a = value(n.a);
  if (is_float(dtype) && n.op == BinaryOp::kDiv && e.type.lanes > 1)
    if (llvm::Value* quotient = divide_by_invariant(n, a)) return quotient;
  llvm::Value* b = value(n.b);
  match(dtype, a, b, yields_bool(n.op) || (m_.machine.on_grid && reach_of(e) < kShortReach));
  if (!is_float(dtype)) {
    // Quotients of natural numbers take half of the instructions.
    const bool divides = n.op == BinaryOp::kDiv || n.op == BinaryOp::kMod;
    const bool u = is_unsigned(dtype) || (divides && is_natural(n.a) && is_natural(n.b));
    return pure(kBinaryOperation + static_cast<int>(n.op), u ? this : nullptr, {a, b},
                !may_trap(n.op, b), [&] { return int_binary(n.op, u, a, b); });
  }
  a = widen(a, dtype);
  b = widen(b, dtype);
  llvm::Value* out = pure(kBinaryOperation + static_cast<int>(n.op), nullptr, {a, b}, moving_,
                          [&] { return float_binary(n.op, a, b); });
  return yields_bool(n.op) ? out : narrow(out, dtype);
}

llvm::Value* FunctionEmitter::float_binary(BinaryOp op, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case BinaryOp::kAdd: return b_.CreateFAdd(a, b);
    case BinaryOp::kSub: return b_.CreateFSub(a, b);
    case BinaryOp::kMul: return b_.CreateFMul(a, b);
    case BinaryOp::kDiv: return divide(b_, a, b);
    case BinaryOp::kMin: return extreme(llvm::Intrinsic::minimum, a, b);
    case BinaryOp::kMax: return extreme(llvm::Intrinsic::maximum, a, b);
    case BinaryOp::kLt: return b_.CreateFCmpOLT(a, b);
    case BinaryOp::kLe: return b_.CreateFCmpOLE(a, b);
    case BinaryOp::kEq: return b_.CreateFCmpOEQ(a, b);
    case BinaryOp::kNe: return b_.CreateFCmpUNE(a, b);
    case BinaryOp::kScale: return scale_by_power(a, b);
    case BinaryOp::kMod:
    case BinaryOp::kPow:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kShl:
    case BinaryOp::kShr:
    case BinaryOp::kSar: break;
  }
  m_.refuse(fmt::format("{} of floating point numbers", flat::name_of(op)));
  return a;
}

// NaN where either is. One instruction on AArch64, and on x86 where an operand is a number (relu);
// else x86 takes a minimum, a comparison of the first operand with itself and a blend, so that
// operand is the newer one, b: then only the minimum and the blend are in the chain of a reduction.
// Which zero of two is left open.
llvm::Value* FunctionEmitter::extreme(unsigned intrinsic, llvm::Value* a, llvm::Value* b) {
  llvm::CallInst* call = b_.CreateIntrinsic(static_cast<ID>(intrinsic), {a->getType()}, {b, a});
  call->setHasNoSignedZeros(true);
  return call;
}

llvm::Value* FunctionEmitter::int_binary(BinaryOp op, bool u, llvm::Value* a, llvm::Value* b) {
  using llvm::Intrinsic::smax, llvm::Intrinsic::smin, llvm::Intrinsic::umax, llvm::Intrinsic::umin;
  switch (op) {
    case BinaryOp::kAdd: return b_.CreateAdd(a, b);
    case BinaryOp::kSub: return b_.CreateSub(a, b);
    case BinaryOp::kMul: return b_.CreateMul(a, b);
    case BinaryOp::kDiv: return u ? b_.CreateUDiv(a, b) : b_.CreateSDiv(a, b);
    case BinaryOp::kMod: return u ? b_.CreateURem(a, b) : b_.CreateSRem(a, b);
    case BinaryOp::kMin: return b_.CreateBinaryIntrinsic(u ? umin : smin, a, b);
    case BinaryOp::kMax: return b_.CreateBinaryIntrinsic(u ? umax : smax, a, b);
    case BinaryOp::kLt: return u ? b_.CreateICmpULT(a, b) : b_.CreateICmpSLT(a, b);
    case BinaryOp::kLe: return u ? b_.CreateICmpULE(a, b) : b_.CreateICmpSLE(a, b);
    case BinaryOp::kEq: return b_.CreateICmpEQ(a, b);
    case BinaryOp::kNe: return b_.CreateICmpNE(a, b);
    case BinaryOp::kAnd:
      if (is_all(a, false)) return a;  // a mask without lanes is known to be one
      return is_all(b, false) ? b : b_.CreateAnd(a, b);
    case BinaryOp::kBitAnd: return b_.CreateAnd(a, b);
    case BinaryOp::kOr:
    case BinaryOp::kBitOr: return b_.CreateOr(a, b);
    case BinaryOp::kBitXor: return b_.CreateXor(a, b);
    case BinaryOp::kShl: return b_.CreateShl(a, b);
    case BinaryOp::kShr: return b_.CreateLShr(a, b);
    case BinaryOp::kSar: return b_.CreateAShr(a, b);
    case BinaryOp::kPow:
    case BinaryOp::kScale: break;
  }
  m_.refuse(fmt::format("{} of integers", flat::name_of(op)));
  return a;
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Bitcast& n) {
  llvm::Value* x = whole(value(n.x), n.x->type.dtype);
  llvm::Type* type = m_.type(e.type);
  if (x->getType() == type) return x;
  return pure(kBitcastOperation, type, {x}, false, [&] {
    llvm::Type* half_bits = with_lanes(b_.getInt16Ty(), type);
    if (is_narrow(e.type.dtype) && !is_narrow(n.x->type.dtype))
      return b_.CreateBitCast(b_.CreateTrunc(x, half_bits), type);
    if (is_narrow(n.x->type.dtype) && !is_narrow(e.type.dtype))
      return b_.CreateZExt(b_.CreateBitCast(x, half_bits), type);
    return b_.CreateBitCast(x, type);
  });
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Cast& n) {
  llvm::Value* x = value(n.x);
  const Type from = n.x->type;
  if (from.dtype == e.type.dtype) return x;
  const auto widened = [](Type t) {
    return Type{is_narrow(t.dtype) ? Dtype::kF32 : t.dtype, t.lanes};
  };
  x = convert(widen(x, from.dtype), widened(from), widened(e.type));
  return narrow(x, e.type.dtype);
}

// Between types other than f16 and bf16.
llvm::Value* FunctionEmitter::convert(llvm::Value* x, Type from, Type to) {
  if (from.dtype == to.dtype) return x;
  llvm::Type* type = m_.type(to);
  const bool integers = !is_float(from.dtype) && !is_float(to.dtype);
  const bool u = is_unsigned(from.dtype);
  const auto make = [&]() -> llvm::Value* {
    if (to.dtype == Dtype::kBool) {
      llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
      return integers ? b_.CreateICmpNE(x, zero) : b_.CreateFCmpUNE(x, zero);
    }
    if (integers) return b_.CreateIntCast(x, type, !u);
    if (is_float(from.dtype) && is_float(to.dtype)) return b_.CreateFPCast(x, type);
    if (is_float(to.dtype)) return u ? b_.CreateUIToFP(x, type) : b_.CreateSIToFP(x, type);
    // Saturating, as the interpreter does, so that a program means the same everywhere.
    const ID id = is_unsigned(to.dtype) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b_.CreateIntrinsic(id, {type, x->getType()}, {x});
  };
  const auto types =
      static_cast<std::uint64_t>(from.dtype) * 256 + static_cast<std::uint64_t>(to.dtype);
  return pure(kConvertOperation, type, {x}, integers, make, types);
}

llvm::Value* FunctionEmitter::widen(llvm::Value* x, Dtype dtype) {
  if (!is_narrow(dtype)) return x;
  return pure(
      kWidenOperation, nullptr, {x}, false,
      [&]() -> llvm::Value* {
        llvm::Type* f32 = with_lanes(b_.getFloatTy(), x->getType());
        if (!x->getType()->isIntOrIntVectorTy()) return b_.CreateFPExt(x, f32);
        return dtype == Dtype::kBF16 ? widen_bf16(b_, x) : widen_f16(b_, x);
      },
      static_cast<std::uint64_t>(dtype));
}

llvm::Value* FunctionEmitter::narrow(llvm::Value* x, Dtype dtype) {
  if (!is_narrow(dtype)) return x;
  return pure(
      kNarrowOperation, nullptr, {x}, false,
      [&]() -> llvm::Value* {
        if (dtype == Dtype::kBF16) return narrow_bf16(b_, x);
        if (!m_.machine.has_f16) return narrow_f16(b_, x);
        return b_.CreateFPTrunc(x, with_lanes(b_.getHalfTy(), x->getType()));
      },
      static_cast<std::uint64_t>(dtype));
}

}  // namespace lathe::codegen
