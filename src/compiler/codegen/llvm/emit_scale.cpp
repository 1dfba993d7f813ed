// x * 2^n by AVX-512's instruction, which takes registers of 128, 256 and 512 bits.
#include <algorithm>
#include <numeric>

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/llvm/emit.h"

namespace lathe::codegen {
namespace {

constexpr int kSmallest = 128, kWidest = 512;  // bits

std::vector<int> places(int first, int count, int all) {
  std::vector<int> out(static_cast<std::size_t>(all), llvm::PoisonMaskElem);
  std::iota(out.begin(), out.begin() + count, first);
  return out;
}

// A whole register.
llvm::Value* scale_register(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* n) {
  using namespace llvm::Intrinsic;
  const bool single = x->getType()->getScalarType()->isFloatTy();
  const auto bits = static_cast<int>(x->getType()->getPrimitiveSizeInBits());
  const auto lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  const ID id = bits == kWidest
                    ? (single ? x86_avx512_mask_scalef_ps_512 : x86_avx512_mask_scalef_pd_512)
                : bits == kSmallest
                    ? (single ? x86_avx512_mask_scalef_ps_128 : x86_avx512_mask_scalef_pd_128)
                    : (single ? x86_avx512_mask_scalef_ps_256 : x86_avx512_mask_scalef_pd_256);
  llvm::Type* mask = b.getIntNTy(std::max(8U, lanes));
  std::vector<llvm::Value*> operands = {x, n, llvm::PoisonValue::get(x->getType()),
                                        llvm::Constant::getAllOnesValue(mask)};
  constexpr int kRoundAsSet = 4;
  if (bits == kWidest) operands.push_back(b.getInt32(kRoundAsSet));
  return b.CreateIntrinsic(id, {}, operands);
}

}  // namespace

llvm::Value* FunctionEmitter::scale_by_power(llvm::Value* x, llvm::Value* power) {
  llvm::Type* type = x->getType();
  if (!type->isVectorTy()) {
    llvm::Type* vector = llvm::FixedVectorType::get(
        type, static_cast<unsigned>(kSmallest) / type->getPrimitiveSizeInBits());
    const auto first = [&](llvm::Value* scalar) {
      return b_.CreateInsertElement(llvm::Constant::getNullValue(vector), scalar, std::uint64_t{0});
    };
    return b_.CreateExtractElement(scale_register(b_, first(x), first(power)), std::uint64_t{0});
  }
  const auto all = static_cast<int>(llvm::cast<llvm::FixedVectorType>(type)->getNumElements());
  const auto element = static_cast<int>(type->getScalarSizeInBits());
  llvm::Value* out = llvm::PoisonValue::get(type);
  for (int first = 0; first < all;) {
    const int left = all - first;
    int lanes = std::min(kWidest, m_.machine.vector_bits) / element;
    while (lanes > kSmallest / element && lanes / 2 >= left) lanes /= 2;
    const int count = std::min(lanes, left);
    const std::vector<int> piece = places(first, count, lanes);
    llvm::Value* scaled =
        scale_register(b_, b_.CreateShuffleVector(x, piece), b_.CreateShuffleVector(power, piece));
    if (count == all && lanes == all) return scaled;
    std::vector<int> joined = places(0, first, all);
    for (int lane = 0; lane < count; ++lane)
      joined[static_cast<std::size_t>(first + lane)] = all + lane;
    llvm::Value* wide = b_.CreateShuffleVector(scaled, places(0, std::min(lanes, all), all));
    out = b_.CreateShuffleVector(out, wide, joined);
    first += count;
  }
  return out;
}

}  // namespace lathe::codegen
