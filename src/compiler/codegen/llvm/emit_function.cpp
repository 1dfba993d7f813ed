// The frame of a function: its entry block, its end.
#include "compiler/codegen/llvm/emit.h"

namespace lathe::codegen {

FunctionEmitter::FunctionEmitter(ModuleContext& m, llvm::Function* function)
    : m_(m), function_(function), b_(m.context), entry_(m.context), scopes_(b_) {
  auto* entry = llvm::BasicBlock::Create(m.context, "entry", function);
  auto* start = llvm::BasicBlock::Create(m.context, "start", function);
  entry_.SetInsertPoint(llvm::BranchInst::Create(start, entry));
  b_.SetInsertPoint(start);
  regs_.resize(m.program.regs.size());
  bases_.resize(m.program.buffers.size());
  versions_.resize(m.program.buffers.size());
}

void FunctionEmitter::finish() {
  finish_streams();
  b_.CreateRetVoid();
  // Phis of registers that nobody reads afterwards would hold hardware registers through the loop.
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock& block : *function_)
      for (llvm::PHINode& phi : llvm::make_early_inc_range(block.phis()))
        if (phi.use_empty()) {
          phi.eraseFromParent();
          changed = true;
        }
  }
}

}  // namespace lathe::codegen
