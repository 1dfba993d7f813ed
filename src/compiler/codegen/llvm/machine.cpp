#include "compiler/codegen/llvm/machine.h"

#include <mutex>

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>

namespace lathe::codegen {
namespace {

void register_targets() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
}

// Addresses are emitted loop by loop, one addition a stream in the innermost loop, so that LLVM's
// loop strength reduction has nothing to find; it takes half of the time of code generation. LLVM
// offers no other switch than its own option.
void turn_off_strength_reduction() {
  auto& known = llvm::cl::getRegisteredOptions();
  const auto option = known.find("disable-lsr");
  if (option != known.end()) static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(true);
}

}  // namespace

const char* triple_of(Isa isa) {
  return isa == Isa::kX86 ? "x86_64-pc-linux-gnu" : "aarch64-unknown-linux-gnu";
}

std::string feature_text(const CpuTarget& target) {
  std::string text;
  for (const auto& feature : target.features) text += (text.empty() ? "" : ",") + feature;
  return text;
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const CpuTarget& target) {
  // LLVM's registry has no lock of its own.
  static std::once_flag registered_once;
  std::call_once(registered_once, [] {
    register_targets();
    turn_off_strength_reduction();
  });
  std::string error;
  const llvm::Target* registered = llvm::TargetRegistry::lookupTarget(triple_of(target.isa), error);
  if (!registered)
    return fail(ErrorKind::kUnsupported, "LLVM does not generate code for {}: {}",
                triple_of(target.isa), error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // an fma is written as one, or is none
  options.TrapUnreachable = false;
  std::unique_ptr<llvm::TargetMachine> machine(registered->createTargetMachine(
      triple_of(target.isa), target.mcpu, feature_text(target), options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
  LATHE_CHECK(machine != nullptr);
  return machine;
}

}  // namespace lathe::codegen
