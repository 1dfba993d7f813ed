// LLVM's machine for a target. Private to this room.
#pragma once

#include <memory>

#include <llvm/Target/TargetMachine.h>

#include "base/result.h"
#include "base/target.h"

namespace lathe::codegen {

const char* triple_of(Isa isa);

// "+avx2,-avx512f": the features as LLVM reads them.
std::string feature_text(const CpuTarget& target);

// The cpu and features must be known to LLVM: resolve_target() says whether they are.
Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const CpuTarget& target);

}  // namespace lathe::codegen
