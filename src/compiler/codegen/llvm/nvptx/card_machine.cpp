// LLVM's machine for a card.
#include <mutex>

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>

#include "compiler/codegen/llvm/nvptx/card_module.h"

namespace lathe::codegen {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

void register_nvptx() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  // LLVM offers no other switch than its own option. Its passes for loops find nothing to do, see
  // machine.cpp.
  auto& known = llvm::cl::getRegisteredOptions();
  for (const char* name : {"nvptx-short-ptr", "disable-lsr"})
    if (const auto option = known.find(name); option != known.end())
      static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(true);
}

// The version of PTX in which an architecture came.
int ptx_version(int architecture) {
  struct Since {
    int architecture, version;
  };
  constexpr Since kVersions[] = {{75, 63}, {80, 70}, {86, 71}, {87, 74}, {89, 78}, {90, 78}};
  int version = kVersions[0].version;
  for (const Since& since : kVersions)
    if (architecture >= since.architecture) version = since.version;
  return version;
}

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> make_card_machine(const CudaTarget& card) {
  LATHE_CHECK(card.architecture > 0, "the target \"{}\" is not resolved", card.text());
  static std::once_flag registered_once;
  std::call_once(registered_once, register_nvptx);
  std::string error;
  const llvm::Target* registered = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!registered)
    return fail(ErrorKind::kUnsupported, "this LLVM generates no code for cards: {}", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // an fma is written as one, or is none
  options.TrapUnreachable = false;
  std::unique_ptr<llvm::TargetMachine> machine(registered->createTargetMachine(
      kTriple, fmt::format("sm_{}", card.architecture),
      fmt::format("+ptx{}", ptx_version(card.architecture)), options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Default));
  LATHE_CHECK(machine != nullptr);
  return machine;
}

}  // namespace lathe::codegen
