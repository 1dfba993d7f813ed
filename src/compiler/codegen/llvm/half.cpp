#include "compiler/codegen/llvm/half.h"

#include <llvm/IR/Intrinsics.h>

namespace lathe::codegen {
namespace {

using llvm::Value;

llvm::Type* like(llvm::Type* element, const Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}
Value* number(const Value* x, std::uint32_t value) {
  return llvm::ConstantInt::get(x->getType(), value);
}

}  // namespace

Value* widen_bf16(llvm::IRBuilder<>& b, Value* bits) {
  Value* wide = b.CreateZExt(bits, like(b.getInt32Ty(), bits));
  return b.CreateBitCast(b.CreateShl(wide, number(wide, 16)), like(b.getFloatTy(), bits));
}

Value* narrow_bf16(llvm::IRBuilder<>& b, Value* x) {
  Value* bits = b.CreateBitCast(x, like(b.getInt32Ty(), x));
  Value* odd = b.CreateAnd(b.CreateLShr(bits, number(bits, 16)), number(bits, 1));
  Value* rounded = b.CreateAdd(bits, b.CreateAdd(odd, number(bits, 0x7fff)));
  Value* quiet = b.CreateOr(bits, number(bits, 0x400000));  // rounding could make a NaN infinite
  Value* out = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  return b.CreateTrunc(b.CreateLShr(out, number(out, 16)), like(b.getInt16Ty(), x));
}

// The exponent is shifted into place and rebiased by a multiplication, which normalises subnormals
// too; infinities and NaNs get their exponent afterwards.
Value* widen_f16(llvm::IRBuilder<>& b, Value* half) {
  Value* wide = b.CreateZExt(half, like(b.getInt32Ty(), half));
  llvm::Type* f32 = like(b.getFloatTy(), half);
  Value* magnitude = b.CreateShl(b.CreateAnd(wide, number(wide, 0x7fff)), number(wide, 13));
  Value* scaled =
      b.CreateFMul(b.CreateBitCast(magnitude, f32), llvm::ConstantFP::get(f32, 0x1p112));
  Value* bits = b.CreateBitCast(scaled, wide->getType());
  Value* special = b.CreateICmpUGE(magnitude, number(wide, 0x7c00U << 13));
  bits = b.CreateSelect(special, b.CreateOr(magnitude, number(wide, 0x7f800000)), bits);
  Value* sign = b.CreateShl(b.CreateAnd(wide, number(wide, 0x8000)), number(wide, 16));
  return b.CreateBitCast(b.CreateOr(bits, sign), f32);
}

// Normal results are rounded in integers; for subnormal ones an addition aligns and rounds the
// mantissa.
Value* narrow_f16(llvm::IRBuilder<>& b, Value* x) {
  Value* bits = b.CreateBitCast(x, like(b.getInt32Ty(), x));
  llvm::Type* f32 = x->getType();
  Value* sign = b.CreateLShr(b.CreateAnd(bits, number(bits, 0x80000000U)), number(bits, 16));
  Value* size = b.CreateAnd(bits, number(bits, 0x7fffffff));
  // 2^-14 and more: rebias, round to even at bit 13. Carries move into the exponent as they should.
  Value* odd = b.CreateAnd(b.CreateLShr(size, number(bits, 13)), number(bits, 1));
  Value* normal = b.CreateAdd(b.CreateAdd(size, number(bits, 0xc8000fffU)), odd);
  normal = b.CreateLShr(normal, number(bits, 13));
  // Below: 0.5 + x has the mantissa aligned to units of 2^-24.
  Value* half = llvm::ConstantFP::get(f32, 0.5);
  Value* small = b.CreateBitCast(b.CreateFAdd(b.CreateBitCast(size, f32), half), bits->getType());
  small = b.CreateSub(small, number(bits, 0x3f000000));
  Value* out = b.CreateSelect(b.CreateICmpULT(size, number(bits, 113U << 23)), small, normal);
  // 65520 and more round to infinity; NaN keeps its upper mantissa and is quiet.
  out = b.CreateSelect(b.CreateICmpUGE(size, number(bits, 0x477ff000)), number(bits, 0x7c00), out);
  Value* nan = b.CreateOr(b.CreateLShr(b.CreateAnd(size, number(bits, 0x7fffff)), number(bits, 13)),
                          number(bits, 0x7e00));
  out = b.CreateSelect(b.CreateICmpUGT(size, number(bits, 0x7f800000)), nan, out);
  return b.CreateTrunc(b.CreateOr(out, sign), like(b.getInt16Ty(), x));
}

}  // namespace lathe::codegen
