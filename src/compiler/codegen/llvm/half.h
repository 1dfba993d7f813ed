// f16 and bf16 in integer operations, for machines that have no instructions for them (LLVM would
// call a library). Private to this room.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace lathe::codegen {

// i16 bits -> f32, exact. Scalars and vectors.
llvm::Value* widen_bf16(llvm::IRBuilder<>& b, llvm::Value* bits);
llvm::Value* widen_f16(llvm::IRBuilder<>& b, llvm::Value* bits);
// f32 -> i16 bits, to the nearest, ties to even; NaN stays NaN.
llvm::Value* narrow_bf16(llvm::IRBuilder<>& b, llvm::Value* x);
llvm::Value* narrow_f16(llvm::IRBuilder<>& b, llvm::Value* x);

}  // namespace lathe::codegen
