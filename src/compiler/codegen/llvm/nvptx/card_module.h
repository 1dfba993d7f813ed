// Flat program -> a module for NVPTX and what is launched of it. Private to this room.
#pragma once

#include <memory>
#include <vector>

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "base/target.h"
#include "compiler/codegen/llvm/emit.h"
#include "compiler/ir/flat/flat.h"
#include "runtime/device/cuda/image.h"

namespace lathe::codegen {

// With pointers to shared memory of 32 bits, and the lowest version of PTX that knows the
// architecture.
Result<std::unique_ptr<llvm::TargetMachine>> make_card_machine(const CudaTarget& card);

// The module, and an image that lacks its PTX. Fails with kUnsupported for what a card cannot do:
// groups that are too many or need too much memory, regions.
struct CardModule {
  std::unique_ptr<llvm::Module> module;
  cuda::Image image;
};
Result<CardModule> emit_card_module(llvm::LLVMContext& context, const flat::Program& program,
                                    const CudaTarget& card, llvm::TargetMachine& machine);

// Of one kernel: its function in the module, and its launch.
device::Launch emit_card_kernel(ModuleContext& m, const flat::Kernel& kernel);

}  // namespace lathe::codegen
