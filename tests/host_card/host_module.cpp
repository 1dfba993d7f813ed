#include "host_card/host_module.h"

#include <cctype>
#include <cstdlib>

#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>

#include "host_card/block.h"

namespace lathe::testing {
namespace {

std::string text_of(llvm::Error error) {
  std::string out;
  llvm::raw_string_ostream(out) << error;
  llvm::consumeError(std::move(error));
  return out;
}

// All memory is one.
std::string without_spaces(std::string ir) {
  const std::string word = " addrspace(";
  for (auto at = ir.find(word); at != std::string::npos; at = ir.find(word, at))
    ir.erase(at, ir.find(')', at) + 1 - at);
  for (const char* line : {"target datalayout", "target triple"})
    if (const auto at = ir.find(line); at != std::string::npos)
      ir.erase(at, ir.find('\n', at) + 1 - at);
  return ir;
}

struct Replaced {
  const char *intrinsic, *function;
};
constexpr Replaced kReplaced[] = {{"llvm.nvvm.read.ptx.sreg.tid.x", "lathe_host_thread_x"},
                                  {"llvm.nvvm.read.ptx.sreg.tid.y", "lathe_host_thread_y"},
                                  {"llvm.nvvm.read.ptx.sreg.tid.z", "lathe_host_thread_z"},
                                  {"llvm.nvvm.read.ptx.sreg.ctaid.x", "lathe_host_block_x"},
                                  {"llvm.nvvm.read.ptx.sreg.ctaid.y", "lathe_host_block_y"},
                                  {"llvm.nvvm.read.ptx.sreg.ctaid.z", "lathe_host_block_z"},
                                  {"llvm.nvvm.barrier0", "lathe_host_barrier"},
                                  {"llvm.nvvm.shfl.sync.bfly.i32", "lathe_host_exchange"}};
constexpr const char* kMeeting[] = {"lathe_host_barrier", "lathe_host_exchange"};

void replace_intrinsics(llvm::Module& module) {
  for (const auto& [intrinsic, name] : kReplaced) {
    llvm::Function* function = module.getFunction(intrinsic);
    if (function == nullptr) continue;
    auto* other = llvm::Function::Create(function->getFunctionType(),
                                         llvm::GlobalValue::ExternalLinkage, name, module);
    function->replaceAllUsesWith(other);
    function->eraseFromParent();
  }
}

// "cp.async.cg.shared.global [$0], [$1], 16, $2;" as a call.
void replace_assembly(llvm::CallInst& call, const std::string& text) {
  llvm::Module& module = *call.getModule();
  llvm::IRBuilder<> b(&call);
  const auto number_behind = [&](const std::string& word) {
    return b.getInt32(static_cast<std::uint32_t>(std::atoi(text.c_str() + word.size())));
  };
  const auto call_of = [&](const char* name, std::vector<llvm::Value*> operands) {
    std::vector<llvm::Type*> types;
    for (const llvm::Value* operand : operands) types.push_back(operand->getType());
    b.CreateCall(
        module.getOrInsertFunction(name, llvm::FunctionType::get(b.getVoidTy(), types, false)),
        operands);
  };
  const std::string copy = "cp.async.c?.shared.global [$0], [$1], ", wait = "cp.async.wait_group ";
  if (text == "cp.async.commit_group;") call_of("lathe_host_commit", {});
  else if (text.starts_with(wait)) call_of("lathe_host_await", {number_behind(wait)});
  else {
    LATHE_CHECK(text.starts_with("cp.async.c"), "the host knows no {}", text);
    llvm::Value* bytes = number_behind(copy);
    call_of("lathe_host_copy", {call.getArgOperand(0), call.getArgOperand(1), bytes,
                                call.arg_size() > 2 ? call.getArgOperand(2) : bytes});
  }
  call.eraseFromParent();
}

void replace_assembly(llvm::Module& module) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
        calls.push_back(call);
  for (llvm::CallInst* call : calls)
    replace_assembly(*call, llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString());
}

constexpr const char* kEntry = ".with";

// One with a list of its arguments beside each kernel.
void add_entries(llvm::Module& module) {
  std::vector<llvm::Function*> kernels;
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) kernels.push_back(&function);
  for (llvm::Function* kernel : kernels) {
    llvm::IRBuilder<> b(module.getContext());
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
    auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                         kernel->getName() + kEntry, module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", entry));
    std::vector<llvm::Value*> arguments;
    for (unsigned i = 0; i < kernel->arg_size(); ++i)
      arguments.push_back(
          b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_32(b.getPtrTy(), entry->getArg(0), i)));
    b.CreateCall(kernel, arguments);
    b.CreateRetVoid();
  }
}

#if defined(__SANITIZE_ADDRESS__)
void sanitize(llvm::Module& module) {
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && !function.getName().ends_with(kEntry))
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager groups;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(groups);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, groups, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AddressSanitizerPass({}, false, false, llvm::AsanDtorKind::None,
                                            llvm::AsanCtorKind::None));
  passes.run(module, modules);
}
#else
void sanitize(llvm::Module&) {}
#endif

Result<std::unique_ptr<llvm::orc::LLJIT>> make_jit() {
  static const bool initialized =
      !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  LATHE_CHECK(initialized);
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine) return fail(ErrorKind::kBuild, "{}", text_of(machine.takeError()));
  machine->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!jit) return fail(ErrorKind::kBuild, "{}", text_of(jit.takeError()));
  llvm::orc::SymbolMap symbols;
  for (const auto& [name, address] : host_functions())
    symbols[(*jit)->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                              llvm::JITSymbolFlags::Exported};
  if (auto error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)))
    return fail(ErrorKind::kBuild, "{}", text_of(std::move(error)));
  return std::move(*jit);
}

}  // namespace

struct HostModule::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  bool meets = false;
};

HostModule::HostModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostModule::HostModule(HostModule&&) noexcept = default;
HostModule::~HostModule() = default;
bool HostModule::meets() const { return impl_->meets; }

Result<HostModule> HostModule::compile(const std::string& ir) {
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic wrong;
  auto module = llvm::parseAssemblyString(without_spaces(ir), wrong, *context);
  if (!module)
    return fail(ErrorKind::kBuild, "line {} of the module: {}: {}", wrong.getLineNo(),
                wrong.getMessage().str(), wrong.getLineContents().str());
  if (llvm::NamedMDNode* notes = module->getNamedMetadata("nvvm.annotations"))
    notes->eraseFromParent();
  replace_intrinsics(*module);
  replace_assembly(*module);
  add_entries(*module);
  auto impl = std::make_unique<Impl>();
  for (const char* name : kMeeting) impl->meets |= module->getFunction(name) != nullptr;
  impl->jit = LATHE_TRY(make_jit());
  module->setDataLayout(impl->jit->getDataLayout());
  module->setTargetTriple(impl->jit->getTargetTriple().str());
  sanitize(*module);
  std::string text;
  llvm::raw_string_ostream out(text);
  if (llvm::verifyModule(*module, &out)) return fail(ErrorKind::kBuild, "{}", text);
  if (auto error = impl->jit->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return fail(ErrorKind::kBuild, "{}", text_of(std::move(error)));
  return HostModule(std::move(impl));
}

Result<HostModule::Kernel> HostModule::kernel(const std::string& name) const {
  auto found = impl_->jit->lookup(name + kEntry);
  if (!found) return fail(ErrorKind::kBuild, "{}", text_of(found.takeError()));
  return found->toPtr<Kernel>();
}

}  // namespace lathe::testing
