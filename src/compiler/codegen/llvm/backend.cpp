// LLVM's code generator on final IR: instruction selection, scheduling, register allocation, and
// nothing before.
#include <chrono>

#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/machine.h"

namespace lathe::codegen {
namespace {

using Clock = std::chrono::steady_clock;
// bytes of code: larger programs are not built a second time
constexpr std::int64_t kMostTwice = 16 << 10;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Counts the stack slots register allocation made for vectors.
class SpillCounter : public llvm::MachineFunctionPass {
 public:
  static char ID;  // NOLINT(readability-identifier-naming): LLVM's name
  explicit SpillCounter(int& spills) : MachineFunctionPass(ID), spills_(spills) {}
  llvm::StringRef getPassName() const override { return "count vector spills"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    constexpr std::int64_t kVectorBytes = 16;
    const llvm::MachineFrameInfo& frame = function.getFrameInfo();
    for (int i = 0; i < frame.getObjectIndexEnd(); ++i)
      spills_ += frame.isSpillSlotObjectIndex(i) && !frame.isDeadObjectIndex(i) &&
                 frame.getObjectSize(i) >= kVectorBytes;
    return false;
  }

 private:
  int& spills_;
};
char SpillCounter::ID = 0;  // LLVM identifies a pass by this address

struct Code {
  llvm::SmallVector<char, 0> bytes;
  int spills = 0;
};

// `schedule`: with the machine scheduler before register allocation.
Result<Code> compile(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind,
                     bool schedule) {
  auto& codegen = static_cast<llvm::LLVMTargetMachine&>(machine);
  Code code;
  llvm::raw_svector_ostream out(code.bytes);
  llvm::legacy::PassManager passes;
  auto* info =
      // owned by the pass manager, as all passes
      new llvm::MachineModuleInfoWrapperPass(&codegen);
  llvm::TargetPassConfig* config = codegen.createPassConfig(passes);
  config->setDisableVerify(true);
  if (!schedule) config->disablePass(&llvm::MachineSchedulerID);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses())
    return fail(ErrorKind::kBuild, "LLVM cannot select instructions for {}",
                machine.getTargetTriple().str());
  config->addMachinePasses();
  config->setInitialized();
  passes.add(new SpillCounter(code.spills));
  if (codegen.addAsmPrinter(passes, out, nullptr, kind, info->getMMI().getContext()))
    return fail(ErrorKind::kBuild, "LLVM cannot write code for {}",
                machine.getTargetTriple().str());
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return code;
}

Status verify_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  LATHE_CHECK(!llvm::verifyModule(module, &out), "the emitted IR is malformed: {}", text);
  return {};
}

std::int64_t code_bytes(llvm::ArrayRef<char> bytes) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(bytes.data(), bytes.size()), "lathe");
  auto object = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!object) {
    llvm::consumeError(object.takeError());
    return 0;
  }
  std::int64_t total = 0;
  for (const auto& section : (*object)->sections())
    if (section.isText()) total += static_cast<std::int64_t>(section.getSize());
  return total;
}

// A context, a machine and what is made with them, in the order that takes them down safely.
struct Session {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
};

Result<Session> emit(const flat::Program& program, const CpuTarget& target,
                     const Exported& artifact = {}) {
  Session session;
  session.machine = LATHE_TRY(make_machine(target));
  session.module =
      LATHE_TRY(emit_module(*session.context, program, target, *session.machine, artifact));
  return session;
}

Result<Code> build(const flat::Program& program, const CpuTarget& target, const Exported& artifact,
                   bool schedule, Object& object) {
  auto start = Clock::now();
  Session session = LATHE_TRY(emit(program, target, artifact));
  object.emit_seconds += seconds_since(start);
  start = Clock::now();
  Result<Code> code =
      compile(*session.module, *session.machine, llvm::CodeGenFileType::ObjectFile, schedule);
  object.llvm_seconds += seconds_since(start);
  return code;
}

}  // namespace

Result<Object> generate(const flat::Program& program, const Target& target,
                        const Exported& artifact) {
  Object object;
  Code code = LATHE_TRY(build(program, target.as_cpu(), artifact, true, object));
  object.code_bytes = code_bytes(code.bytes);
  if (code.spills > 0 && object.code_bytes <= kMostTwice) {
    Code other = LATHE_TRY(build(program, target.as_cpu(), artifact, false, object));
    object.rescheduled = other.spills < code.spills;
    if (object.rescheduled) code = std::move(other);
  }
  const auto* data = reinterpret_cast<const std::byte*>(code.bytes.data());
  object.bytes.assign(data, data + code.bytes.size());
  object.spills = code.spills;
  object.code_bytes = code_bytes(code.bytes);
  return object;
}

namespace {

// With a sentence about its code.
Result<std::pair<Cargo, std::string>> cargo_of(const Object& image, DeviceKind kind) {
  if (kind != DeviceKind::kCuda)
    return std::pair(Cargo(LATHE_TRY(opencl::image_from(image.bytes))), "");
  CardCargo cargo{LATHE_TRY(cuda::image_from(image.bytes)), {}};
  Assembled assembled = LATHE_TRY(assemble_ptx(cargo.image.ptx, cargo.image.architecture));
  cargo.codes = std::move(assembled.codes);
  return std::pair(Cargo(std::move(cargo)), std::move(assembled.remark));
}

}  // namespace

Result<Object> carry_image(const Object& image, DeviceKind kind, const flat::Program& program,
                           const Target& target, const std::string& artifact) {
  Session session;
  session.machine = LATHE_TRY(make_machine(target.as_cpu()));
  const auto [carried, remark] = LATHE_TRY(cargo_of(image, kind));
  // Of the kernels nothing is left, nor of what they read.
  flat::Program borders;
  borders.inputs = program.inputs;
  borders.outputs = program.outputs;
  session.module =
      emit_carrier(*session.context, borders, target.as_cpu(), *session.machine, artifact, carried);
  const Code code = LATHE_TRY(
      compile(*session.module, *session.machine, llvm::CodeGenFileType::ObjectFile, true));
  Object object = image;
  object.remark = remark;
  const auto* data = reinterpret_cast<const std::byte*>(code.bytes.data());
  object.bytes.assign(data, data + code.bytes.size());
  return object;
}

Result<std::string> llvm_ir(const flat::Program& program, const Target& target) {
  const Session session = LATHE_TRY(emit(program, target.as_cpu()));
  LATHE_TRY_STATUS(verify_module(*session.module));
  std::string text;
  llvm::raw_string_ostream out(text);
  session.module->print(out, nullptr);
  return text;
}

Result<std::string> assembly(const flat::Program& program, const Target& target) {
  const Session session = LATHE_TRY(emit(program, target.as_cpu()));
  LATHE_TRY_STATUS(verify_module(*session.module));
  const Code code = LATHE_TRY(
      compile(*session.module, *session.machine, llvm::CodeGenFileType::AssemblyFile, true));
  return std::string(code.bytes.begin(), code.bytes.end());
}

}  // namespace lathe::codegen
