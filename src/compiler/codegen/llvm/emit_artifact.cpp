// What makes a module an artifact: the table of its tensors and the functions a C program calls.
#include <ranges>
#include <set>

#include <llvm/MC/MCSubtargetInfo.h>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/machine.h"
#include "compiler/ir/flat/touched.h"
#include "runtime/artifact/artifact.h"
#include "runtime/artifact/cuda_program.h"
#include "runtime/artifact/opencl_program.h"

namespace lathe::codegen {

namespace {

using flat::Border;

class ArtifactEmitter {
 public:
  ArtifactEmitter(ModuleContext& m, const std::string& name) : m_(m), name_(name), b_(m.context) {}

  void run(llvm::Constant* module, const std::vector<llvm::Function*>& kernels, const Exported& as,
           std::int64_t cpu) {
    table_ = hidden(table(module, cpu, sharing(kernels, as)));
    list();
    functions();
    llvm::Type *pointer = b_.getPtrTy(), *status = b_.getInt32Ty();
    if (!as.weights.empty()) function("create_from", status, {pointer, pointer, pointer}, true);
    function("__tvm_ffi_" + name_, "tvm_ffi", status, {pointer, pointer, status, pointer}, true);
  }

  // lathe_opencl_program, which begins with the table.
  void run(const opencl::Image& image) {
    std::vector<llvm::Constant*> extensions;
    for (const std::string& extension : image.extensions) extensions.push_back(text(extension));
    extensions.push_back(null());
    table_ = hidden(record({program_of(image), text(image.source), text(image.options),
                            array(extensions), number(image.local_bytes)}));
    list();
    functions();
    llvm::Type *pointer = b_.getPtrTy(), *status = b_.getInt32Ty();
    function("lathe_" + name_ + "_create_on", "opencl_create_on", status,
             {pointer, pointer, pointer}, true);
    function("lathe_" + name_ + "_run_on", "opencl_run_on", status,
             {pointer, pointer, pointer, pointer}, false);
  }

  // lathe_cuda_program, which begins with the table.
  void run(const CardCargo& cargo) {
    std::vector<llvm::Constant*> codes;
    for (const MachineCode& code : cargo.codes)
      codes.push_back(record({number(code.architecture), bytes(code.bytes)}));
    table_ = hidden(record({program_of(cargo.image), number(cargo.image.architecture),
                            text(cargo.image.ptx), array(codes), number(std::ssize(cargo.codes))}));
    list(LATHE_CARD_ABI);
    llvm::Type *pointer = b_.getPtrTy(), *status = b_.getInt32Ty();
    lifetime();
    function("lathe_" + name_ + "_prepare", "cuda_prepare", status, {pointer, pointer, pointer},
             false);
    function("lathe_" + name_ + "_run", "cuda_run", status, {pointer, pointer, pointer, pointer},
             false);
  }

 private:
  llvm::Constant* null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }
  template <class T>
  llvm::Constant* count(const std::vector<T>& of) {
    return number(static_cast<std::int64_t>(of.size()));
  }
  llvm::Constant* array(const std::vector<llvm::Constant*>& members) {
    if (members.empty()) return null();
    return hidden(llvm::ConstantArray::get(
        llvm::ArrayType::get(members[0]->getType(), members.size()), members));
  }

  // `sharing`: the members of lathe_artifact from `shared` on.
  llvm::Constant* table(llvm::Constant* module, std::int64_t cpu,
                        const std::vector<llvm::Constant*>& sharing) {
    std::vector<llvm::Constant*> tensors;
    for (const auto* borders : {&m_.program.inputs, &m_.program.outputs})
      for (const Border& border : *borders) tensors.push_back(tensor(border));
    std::vector<llvm::Constant*> members = {text(name_), module, array(tensors),
                                            number(m_.machine.threads), number(cpu)};
    members.insert(members.end(), sharing.begin(), sharing.end());
    return record(members);
  }
  std::vector<llvm::Constant*> no_sharing() { return {null(), null(), number(0), null()}; }

  // Handles share what they all make alike: constants that no caller gives.
  std::vector<llvm::Constant*> sharing(const std::vector<llvm::Function*>& kernels,
                                       const Exported& as) {
    if (m_.program.constant_bytes == 0 || std::ranges::any_of(m_.program.inputs, &Border::constant))
      return no_sharing();
    const std::vector<llvm::Constant*> steps = packing(kernels);
    llvm::Constant* weights = null();
    if (!as.weights.empty())
      weights =
          hidden(record({text(as.weights), number(static_cast<std::int64_t>(as.weights_hash))}));
    return {shared(), array(steps), count(steps), weights};
  }
  // lathe_shared, zeros.
  llvm::Constant* shared() {
    llvm::Type* type =
        llvm::StructType::get(b_.getInt32Ty(), b_.getInt64Ty(), b_.getPtrTy(), b_.getInt64Ty());
    return new llvm::GlobalVariable(*m_.module, type, false, llvm::GlobalValue::PrivateLinkage,
                                    llvm::Constant::getNullValue(type));
  }
  // lathe_packing: each kernel, and after it the literals that it is the last to read; at the end,
  // where the constants begin that run does not read.
  std::vector<llvm::Constant*> packing(const std::vector<llvm::Function*>& kernels) {
    const flat::Program& program = m_.program;
    std::set<int> still = flat::touched_buffers(program, program.run);
    std::vector<llvm::Constant*> steps;  // the last one first
    if (!program.prepare.empty())
      steps.push_back(record({null(), null(), number(flat::read_constant_bytes(program))}));
    for (const int k : program.prepare | std::views::reverse) {
      for (const int b : flat::touched_buffers(program.kernels[static_cast<std::size_t>(k)])) {
        const flat::Buffer& buffer = program.buffers[static_cast<std::size_t>(b)];
        if (buffer.scope != flat::Scope::kLiteral || !still.insert(b).second) continue;
        steps.push_back(record({null(), m_.literals[static_cast<std::size_t>(b)],
                                number(std::ssize(buffer.literal.bytes))}));
      }
      steps.push_back(record({kernels[static_cast<std::size_t>(k)], null(), number(0)}));
    }
    return {steps.rbegin(), steps.rend()};
  }

  void functions() {
    llvm::Type *pointer = b_.getPtrTy(), *status = b_.getInt32Ty();
    lifetime();
    function("prepare", status, {pointer, pointer}, false);
    function("run", status, {pointer, pointer, pointer}, false);
  }
  void lifetime() {
    llvm::Type* pointer = b_.getPtrTy();
    function("create", b_.getInt32Ty(), {pointer, pointer}, true);
    function("destroy", b_.getVoidTy(), {pointer}, false);
    function("message", pointer, {pointer}, false);
  }

  // lathe_device_program, lathe_module without functions, and lathe_launch.
  template <class Image>
  llvm::Constant* program_of(const Image& image) {
    std::vector<llvm::Constant*> launches;
    for (const auto* some : {&image.prepare, &image.run})
      for (const device::Launch& launch : *some) launches.push_back(record_of(launch));
    return record({table(module_of(image), 0, no_sharing()), array(launches), count(image.prepare),
                   count(image.run)});
  }
  template <class Image>
  llvm::Constant* module_of(const Image& image) {
    return hidden(record({number(LATHE_MODULE_ABI), count(image.inputs), count(image.outputs),
                          number(image.constant_bytes), number(image.scratch_bytes), number(0),
                          null(), null()}));
  }
  llvm::Constant* record_of(const device::Launch& launch) {
    std::vector<llvm::Constant*> arguments;
    for (const device::Argument& argument : launch.arguments) {
      arguments.push_back(number(area_of(argument.area)));
      arguments.push_back(number(argument.position));
    }
    std::vector<llvm::Constant*> members = {text(launch.kernel), array(arguments),
                                            count(launch.arguments)};
    for (const auto* grid : {&launch.groups, &launch.items})
      for (const std::int64_t extent : *grid) members.push_back(number(extent));
    members.push_back(number(launch.group_bytes));
    return record(members);
  }
  static std::int64_t area_of(device::Area area) {
    switch (area) {
      case device::Area::kInput: return LATHE_AREA_INPUT;
      case device::Area::kOutput: return LATHE_AREA_OUTPUT;
      case device::Area::kConstant: return LATHE_AREA_CONSTANT;
      case device::Area::kScratch: return LATHE_AREA_SCRATCH;
    }
    return LATHE_AREA_SCRATCH;
  }

  llvm::Constant* number(std::int64_t value) {
    return b_.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Constant* record(const std::vector<llvm::Constant*>& members) {
    return llvm::ConstantStruct::getAnon(members);
  }
  llvm::GlobalVariable* hidden(llvm::Constant* value) {
    return new llvm::GlobalVariable(*m_.module, value->getType(), true,
                                    llvm::GlobalValue::PrivateLinkage, value);
  }
  llvm::Constant* text(const std::string& words) {
    return hidden(llvm::ConstantDataArray::getString(m_.context, words));
  }

  // Drivers want machine code at a multiple of some bytes.
  llvm::Constant* bytes(const std::vector<std::byte>& of) {
    constexpr std::uint64_t kAlignment = 64;
    const llvm::StringRef all(reinterpret_cast<const char*>(of.data()), of.size());
    llvm::GlobalVariable* value =
        hidden(llvm::ConstantDataArray::getString(m_.context, all, false));
    value->setAlignment(llvm::Align(kAlignment));
    return value;
  }

  llvm::Constant* tensor(const Border& border) {
    std::vector<std::uint64_t> shape(border.shape.begin(), border.shape.end());
    const auto [code, bits] = type_of(border.dtype);
    return record({text(border.name), hidden(llvm::ConstantDataArray::get(m_.context, shape)),
                   number(static_cast<std::int64_t>(shape.size())), number(code), number(bits),
                   number(border.size * size_of(border.dtype)), number(border.constant),
                   number(tensor::is_plain(border))});
  }

  static std::pair<std::int64_t, std::int64_t> type_of(Dtype dtype) {
    constexpr int kBool = 6;  // of newer versions of DLPack
    const int bits = size_of(dtype) * 8;
    switch (dtype) {
      case Dtype::kF32:
      case Dtype::kF64:
      case Dtype::kF16: return {kDLFloat, bits};
      case Dtype::kBF16: return {kDLBfloat, bits};
      case Dtype::kI8:
      case Dtype::kI16:
      case Dtype::kI32:
      case Dtype::kI64: return {kDLInt, bits};
      case Dtype::kU8:
      case Dtype::kU16:
      case Dtype::kU32: return {kDLUInt, bits};
      case Dtype::kBool: return {kBool, bits};
    }
    return {};
  }

  // The symbol of every library. Several in one program do no harm: none reads it itself.
  void list(std::int64_t abi = LATHE_ARTIFACT_ABI) {
    auto* array = llvm::ArrayType::get(b_.getPtrTy(), 1);
    llvm::Constant* artifacts = hidden(llvm::ConstantArray::get(array, {table_}));
    llvm::Constant* library = record({number(abi), number(1), artifacts});
    new llvm::GlobalVariable(*m_.module, library->getType(), true,
                             llvm::GlobalValue::ExternalLinkage, library, LATHE_LIBRARY_SYMBOL);
  }

  // lathe_NAME_ACTION(...) is lathe_artifact_ACTION([table,] ...).
  void function(const std::string& action, llvm::Type* result, std::vector<llvm::Type*> types,
                bool with_table) {
    function("lathe_" + name_ + "_" + action, action, result, std::move(types), with_table);
  }
  void function(const std::string& own_name, const std::string& action, llvm::Type* result,
                std::vector<llvm::Type*> types, bool with_table) {
    auto* outer_type = llvm::FunctionType::get(result, types, false);
    if (with_table) types.insert(types.begin(), b_.getPtrTy());
    auto* inner_type = llvm::FunctionType::get(result, types, false);
    auto* inner = llvm::Function::Create(inner_type, llvm::GlobalValue::ExternalLinkage,
                                         "lathe_artifact_" + action, *m_.module);
    inner->setVisibility(llvm::GlobalValue::HiddenVisibility);
    inner->setDSOLocal(true);
    llvm::Function* outer = m_.function(outer_type, own_name);
    outer->setLinkage(llvm::GlobalValue::ExternalLinkage);
    b_.SetInsertPoint(llvm::BasicBlock::Create(m_.context, "entry", outer));
    std::vector<llvm::Value*> arguments;
    if (with_table) arguments.push_back(table_);
    for (auto& argument : outer->args()) arguments.push_back(&argument);
    llvm::CallInst* call = b_.CreateCall(inner, arguments);
    call->setTailCall();
    if (result->isVoidTy()) b_.CreateRetVoid();
    else b_.CreateRet(call);
  }

  ModuleContext& m_;
  const std::string& name_;
  llvm::IRBuilder<> b_;
  llvm::Constant* table_ = nullptr;
};

// The instructions that create() looks for.
std::int64_t cpu_bits(const llvm::MCSubtargetInfo& info, Isa isa) {
  if (isa != Isa::kX86) return 0;
  const auto bit = [&](const char* feature, std::int64_t value) {
    return info.checkFeatures(feature) ? value : 0;
  };
  return bit("+avx", LATHE_CPU_AVX) | bit("+avx2", LATHE_CPU_AVX2) | bit("+fma", LATHE_CPU_FMA) |
         bit("+f16c", LATHE_CPU_F16C) | bit("+avx512f", LATHE_CPU_AVX512) |
         bit("+avx512vl", LATHE_CPU_AVX512_SKX) | bit("+avx512bw", LATHE_CPU_AVX512_SKX) |
         bit("+bmi", LATHE_CPU_BMI) | bit("+bmi2", LATHE_CPU_BMI2) |
         bit("+lzcnt", LATHE_CPU_LZCNT) | bit("+movbe", LATHE_CPU_MOVBE) |
         bit("+avx512ifma", LATHE_CPU_AVX512_IFMA) | bit("+avx512vbmi", LATHE_CPU_AVX512_VBMI) |
         bit("+avx512vbmi2", LATHE_CPU_AVX512_VBMI2) | bit("+avx512vnni", LATHE_CPU_AVX512_VNNI) |
         bit("+avx512bitalg", LATHE_CPU_AVX512_BITALG) |
         bit("+avx512vpopcntdq", LATHE_CPU_AVX512_VPOPCNTDQ) |
         bit("+avx512fp16", LATHE_CPU_AVX512_FP16) | bit("+avx512bf16", LATHE_CPU_AVX512_BF16);
}

}  // namespace

void emit_artifact(ModuleContext& m, const Exported& as, llvm::Constant* table,
                   const std::vector<llvm::Function*>& kernels, const llvm::MCSubtargetInfo& info,
                   Isa isa) {
  ArtifactEmitter(m, as.name).run(table, kernels, as, cpu_bits(info, isa));
}

std::unique_ptr<llvm::Module> emit_carrier(llvm::LLVMContext& context, const flat::Program& program,
                                           const CpuTarget& target, llvm::TargetMachine& machine,
                                           const std::string& artifact, const Cargo& cargo) {
  ModuleContext m(context, program, machine_of(target, true));
  m.module->setTargetTriple(triple_of(target.isa));
  m.module->setDataLayout(machine.createDataLayout());
  m.module->setPICLevel(llvm::PICLevel::SmallPIC);
  std::visit([&](const auto& carried) { ArtifactEmitter(m, artifact).run(carried); }, cargo);
  return std::move(m.module);
}

}  // namespace lathe::codegen
