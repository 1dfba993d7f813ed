// The module: literals, the two entries, the exported table.
#include <llvm/IR/MDBuilder.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/machine.h"
#include "compiler/codegen/llvm/quotients.h"
#include "runtime/module/abi.h"

namespace lathe::codegen {

using namespace flat;

namespace {

constexpr std::uint64_t kTensorAlign = 64;

struct Range {
  std::int64_t begin, end;
};
Range range_of(const Buffer& b) {
  const bool tensor = b.scope == Scope::kInput || b.scope == Scope::kOutput;
  return {b.slot, b.slot + (tensor ? 1 : std::max<std::int64_t>(1, b.size * size_of(b.dtype)))};
}
}  // namespace

bool may_alias(const Buffer& a, const Buffer& b) {
  if (a.scope != b.scope || a.scope == Scope::kLiteral) return false;
  const Range x = range_of(a), y = range_of(b);
  return x.begin < y.end && y.begin < x.end;
}

namespace {

llvm::GlobalVariable* constant_bytes(llvm::Module& module, llvm::ArrayRef<std::uint8_t> bytes,
                                     const std::string& name, unsigned space) {
  llvm::Constant* data = llvm::ConstantDataArray::get(module.getContext(), bytes);
  auto* global =
      new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                               data, name, nullptr, llvm::GlobalValue::NotThreadLocal, space);
  global->setAlignment(llvm::Align(kTensorAlign));
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global;
}

// `space`: the number of the memory it lies in.
llvm::GlobalVariable* literal(llvm::Module& module, const Buffer& buffer, unsigned space) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(buffer.literal.bytes.data());
  return constant_bytes(module, {bytes, buffer.literal.bytes.size()}, "literal." + buffer.name,
                        space);
}

llvm::Function* entry_function(ModuleContext& m, const std::string& name) {
  llvm::Type* pointer = llvm::PointerType::get(m.context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(m.context),
                                       std::vector<llvm::Type*>(5, pointer), false);
  return m.function(type, name);
}

llvm::Function* emit_kernel(ModuleContext& m, const Kernel& kernel) {
  llvm::Function* function = entry_function(m, "lathe.kernel." + kernel.name);
  FunctionEmitter emitter(m, function);
  const auto arg = [&](unsigned i) { return function->getArg(i); };
  emitter.set_frame({arg(0), arg(1), arg(2), arg(3), arg(4), arg(4), {}});
  if (!kernel.grid.axes().empty() && !m.error)
    m.error = Error{ErrorKind::kUnsupported,
                    fmt::format("kernel {} runs on a grid, which processors have not; bind no "
                                "loops, or choose a device as the target",
                                kernel.name),
                    {}};
  emitter.emit(kernel.body);
  emitter.finish();
  return function;
}

// What runs a sequence of kernels: a single one itself, else a function that calls them in turn.
// Null: there are none.
llvm::Function* emit_sequence(ModuleContext& m, const std::string& name,
                              const std::vector<int>& sequence,
                              const std::vector<llvm::Function*>& kernels) {
  if (sequence.empty()) return nullptr;
  if (sequence.size() == 1) return kernels[static_cast<std::size_t>(sequence[0])];
  llvm::Function* function = entry_function(m, name);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(m.context, "entry", function));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  for (const int k : sequence) b.CreateCall(kernels[static_cast<std::size_t>(k)], arguments);
  b.CreateRetVoid();
  return function;
}

// Exported where it is what the library is opened for. An artifact is called through its functions,
// and several of them may be in one program: there the table is nobody else's.
llvm::Constant* emit_table(ModuleContext& m, llvm::Function* prepare, llvm::Function* run,
                           bool exported) {
  llvm::Type* i64 = llvm::Type::getInt64Ty(m.context);
  llvm::PointerType* pointer = llvm::PointerType::get(m.context, 0);
  const auto number = [&](std::int64_t value) {
    return llvm::ConstantInt::get(i64, static_cast<std::uint64_t>(value));
  };
  const Program& p = m.program;
  llvm::Constant* no_prepare = llvm::ConstantPointerNull::get(pointer);
  llvm::Constant* table = llvm::ConstantStruct::getAnon(
      {number(LATHE_MODULE_ABI), number(static_cast<std::int64_t>(p.inputs.size())),
       number(static_cast<std::int64_t>(p.outputs.size())), number(p.constant_bytes),
       number(shared_offset(p) + p.shared_bytes), number(p.thread_bytes),
       prepare ? static_cast<llvm::Constant*>(prepare) : no_prepare, run});
  const auto linkage =
      exported ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::PrivateLinkage;
  return new llvm::GlobalVariable(*m.module, table->getType(), true, linkage, table,
                                  LATHE_MODULE_SYMBOL);
}

bool has_round_instruction(llvm::TargetMachine& machine, Isa isa) {
  return isa == Isa::kAArch64 || machine.getMCSubtargetInfo()->checkFeatures("+sse4.1");
}

}  // namespace

std::int64_t shared_offset(const Program& program) {
  constexpr auto kAlign = static_cast<std::int64_t>(kTensorAlign);
  return (program.global_bytes + kAlign - 1) / kAlign * kAlign;
}

Machine machine_of(const CpuTarget& target, bool has_round) {
  Machine machine{.name = target.text(),
                  .has_fma = target.has_fma,
                  .has_f16 = target.has_f16c,
                  .has_round = has_round,
                  .vector_bits = target.vector_bits,
                  .has_masks = target.has_avx512_masks,
                  .is_x86 = target.isa == Isa::kX86,
                  .threads = target.threads};
  machine.attributes = {{"target-cpu", target.mcpu},
                        {"target-features", feature_text(target)},
                        {"frame-pointer", "none"}};
  // LLVM cannot align the stack once it finds that it has to spill vectors: a spill across two
  // lines of the cache takes twice the time, so the same program had two speeds by where the stack
  // began.
  if (target.vector_bits > 128) machine.stack_align = target.vector_bits / 8;
  // Several cpus with AVX-512 prefer 256 bits, which would split every vector operation in two.
  if (target.vector_bits == 512) machine.attributes.emplace_back("prefer-vector-width", "512");
  return machine;
}

ModuleContext::ModuleContext(llvm::LLVMContext& c, const Program& p, Machine of)
    : context(c),
      program(p),
      machine(std::move(of)),
      module(std::make_unique<llvm::Module>("lathe", c)),
      decides_by_quotients(codegen::decides_by_quotients(p)) {
  llvm::MDBuilder md(context);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (const Buffer& buffer : program.buffers) {
    scopes.push_back(md.createAnonymousAliasScope(domain, buffer.name));
    literals.push_back(buffer.scope == Scope::kLiteral
                           ? literal(*module, buffer, machine.on_grid ? kGlobalSpace : 0)
                           : nullptr);
  }
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (std::size_t j = 0; j < scopes.size(); ++j)
      if (i != j && !may_alias(program.buffers[i], program.buffers[j])) others.push_back(scopes[j]);
    alias_scope.push_back(llvm::MDNode::get(context, {scopes[i]}));
    noalias.push_back(others.empty() ? nullptr : llvm::MDNode::get(context, others));
  }
}

llvm::Type* ModuleContext::memory_type(Type t) const {
  if (t.dtype != Dtype::kBool) return type(t);
  llvm::Type* byte = llvm::Type::getInt8Ty(context);
  return t.lanes == 1 ? byte : llvm::FixedVectorType::get(byte, static_cast<unsigned>(t.lanes));
}

llvm::Type* ModuleContext::type(Type t) const {
  const auto element = [&]() -> llvm::Type* {
    switch (t.dtype) {
      case Dtype::kF32: return llvm::Type::getFloatTy(context);
      case Dtype::kF64: return llvm::Type::getDoubleTy(context);
      case Dtype::kF16:
        return machine.has_f16 ? llvm::Type::getHalfTy(context) : llvm::Type::getInt16Ty(context);
      case Dtype::kBF16: return llvm::Type::getInt16Ty(context);
      case Dtype::kI8:
      case Dtype::kU8: return llvm::Type::getInt8Ty(context);
      case Dtype::kI16:
      case Dtype::kU16: return llvm::Type::getInt16Ty(context);
      case Dtype::kI32:
      case Dtype::kU32: return llvm::Type::getInt32Ty(context);
      case Dtype::kI64: return llvm::Type::getInt64Ty(context);
      case Dtype::kBool: return llvm::Type::getInt1Ty(context);
    }
    return nullptr;
  };
  return t.lanes == 1 ? element()
                      : llvm::FixedVectorType::get(element(), static_cast<unsigned>(t.lanes));
}

llvm::Function* ModuleContext::function(llvm::FunctionType* type, const std::string& name) {
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, *module);
  function->setDoesNotThrow();
  function->addFnAttr("no-builtins");
  for (const auto& [attribute, value] : machine.attributes) function->addFnAttr(attribute, value);
  if (machine.stack_align > 0)
    function->addFnAttr(llvm::Attribute::getWithStackAlignment(
        context, llvm::Align(static_cast<std::uint64_t>(machine.stack_align))));
  return function;
}

llvm::Value* ModuleContext::zeros() {
  const std::vector<std::uint8_t> bytes(kZeroBytes, 0);
  if (!zeros_) zeros_ = constant_bytes(*module, bytes, "zeros", 0);
  return zeros_;
}

void ModuleContext::refuse(const std::string& what) {
  if (!error)
    error = Error{ErrorKind::kUnsupported,
                  fmt::format("code generation has no instruction for {}", what),
                  {}};
}

Result<std::unique_ptr<llvm::Module>> emit_module(llvm::LLVMContext& context,
                                                  const Program& program, const CpuTarget& target,
                                                  llvm::TargetMachine& machine,
                                                  const Exported& artifact) {
  LATHE_CHECK(target.vector_bits > 0, "the target \"{}\" is not resolved", target.text());
  ModuleContext m(context, program, machine_of(target, has_round_instruction(machine, target.isa)));
  m.module->setTargetTriple(triple_of(target.isa));
  m.module->setDataLayout(machine.createDataLayout());
  m.module->setPICLevel(llvm::PICLevel::SmallPIC);
  std::vector<llvm::Function*> kernels;
  for (const Kernel& kernel : program.kernels) kernels.push_back(emit_kernel(m, kernel));
  llvm::Function* prepare = emit_sequence(m, "lathe_prepare", program.prepare, kernels);
  llvm::Function* run = emit_sequence(m, "lathe_run", program.run, kernels);
  llvm::Constant* table = emit_table(m, prepare, run, artifact.name.empty());
  if (!artifact.name.empty())
    emit_artifact(m, artifact, table, kernels, *machine.getMCSubtargetInfo(), target.isa);
  if (m.error) return std::unexpected(*m.error);
  return std::move(m.module);
}

}  // namespace lathe::codegen
