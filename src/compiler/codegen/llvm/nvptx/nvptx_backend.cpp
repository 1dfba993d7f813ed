#include "compiler/codegen/llvm/nvptx/nvptx_backend.h"

#include <chrono>

#include <llvm/ADT/SmallString.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/codegen/llvm/nvptx/card_module.h"
#include "compiler/codegen/nvptx/cards.h"

namespace lathe::codegen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNvptxVersion = 1;

std::string nvptx_built_with() { return "LLVM " LLVM_VERSION_STRING; }

bool is_card(const Target& target) { return target.kind() == DeviceKind::kCuda; }

Result<Target> resolve_card(const Target& target) {
  return Target{LATHE_TRY(cuda_card(target.as_cuda().name))};
}

// In the order that takes them down safely.
struct CardSession {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  CardModule made;
};

Result<CardSession> emit_for(const flat::Program& program, const CudaTarget& card) {
  CardSession session;
  session.machine = LATHE_TRY(make_card_machine(card));
  session.made = LATHE_TRY(emit_card_module(*session.context, program, card, *session.machine));
  return session;
}

Result<std::string> ptx_of(CardSession& session) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (session.machine->addPassesToEmitFile(passes, out, nullptr,
                                           llvm::CodeGenFileType::AssemblyFile, true))
    return fail(ErrorKind::kBuild, "LLVM cannot write PTX");
  passes.run(*session.made.module);
  return std::string(text.str());
}

double passed(Clock::time_point& since) {
  const auto now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(since, now)).count();
}

Result<Object> generate_ptx(const flat::Program& program, const Target& target, const Exported&) {
  auto since = Clock::now();
  CardSession session = LATHE_TRY(emit_for(program, target.as_cuda()));
  Object object;
  object.emit_seconds = passed(since);
  session.made.image.ptx = LATHE_TRY(ptx_of(session));
  object.bytes = cuda::bytes_of(session.made.image);
  object.code_bytes = static_cast<std::int64_t>(session.made.image.ptx.size());
  object.llvm_seconds = passed(since);
  return object;
}

// The image is complete.
Result<std::vector<std::byte>> link_ptx(const Object& object, const Target&,
                                        const std::vector<std::string>&) {
  return object.bytes;
}

Result<std::string> ptx_text(const flat::Program& program, const Target& target) {
  return LATHE_TRY(cuda_image(program, target.as_cuda())).ptx;
}

constexpr Listing kNvptxListings[] = {{"ptx", ptx_text}, {"source", cuda_ir}};

}  // namespace

Result<cuda::Image> cuda_image(const flat::Program& program, const CudaTarget& card) {
  CardSession session = LATHE_TRY(emit_for(program, card));
  session.made.image.ptx = LATHE_TRY(ptx_of(session));
  return session.made.image;
}

Result<std::string> cuda_ir(const flat::Program& program, const Target& target) {
  const CardSession session = LATHE_TRY(emit_for(program, target.as_cuda()));
  std::string text;
  llvm::raw_string_ostream out(text);
  LATHE_CHECK(!llvm::verifyModule(*session.made.module, &out), "the emitted IR is malformed: {}",
              text);
  session.made.module->print(out, nullptr);
  return text;
}

const Backend& nvptx_backend() {
  static constexpr Backend kNvptxBackend = {.name = "nvptx",
                                            .version = kNvptxVersion,
                                            .built_with = nvptx_built_with,
                                            .accepts = is_card,
                                            .resolve_target = resolve_card,
                                            .generate = generate_ptx,
                                            .link = link_ptx,
                                            .carry = nullptr,
                                            .listings = kNvptxListings};
  return kNvptxBackend;
}

}  // namespace lathe::codegen
