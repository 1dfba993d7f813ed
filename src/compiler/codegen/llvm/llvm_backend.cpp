#include <llvm/Config/llvm-config.h>

#include "compiler/codegen/llvm/codegen.h"

namespace lathe::codegen {
namespace {

constexpr int kVersion = 3;

std::string built_with() { return "LLVM " LLVM_VERSION_STRING; }

bool accepts(const Target& target) { return target.kind() == DeviceKind::kCpu; }

constexpr Listing kListings[] = {{"llvm", llvm_ir}, {"asm", assembly}};

}  // namespace

const Backend& llvm_backend() {
  static constexpr Backend kBackend = {.name = "llvm",
                                       .version = kVersion,
                                       .built_with = built_with,
                                       .accepts = accepts,
                                       .resolve_target = resolve_target,
                                       .generate = generate,
                                       .link = link_shared,
                                       .carry = carry_image,
                                       .listings = kListings};
  return kBackend;
}

}  // namespace lathe::codegen
