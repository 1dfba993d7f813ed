#include "runtime/artifact/embedded.h"

#define LATHE_EMBED(name, path)                                  \
  asm(".pushsection .rodata\n"                                   \
      ".balign 16\n"                                             \
      ".global " #name "_begin\n.hidden " #name "_begin\n" #name \
      "_begin:\n"                                                \
      ".incbin \"" path                                          \
      "\"\n"                                                     \
      ".global " #name "_end\n.hidden " #name "_end\n" #name     \
      "_end:\n.byte 0\n"                                         \
      ".popsection\n");                                          \
  extern "C" const std::byte name##_begin[], name##_end[];

#ifdef LATHE_ARTIFACT_x86
LATHE_EMBED(lathe_artifact_x86, LATHE_ARTIFACT_x86)
#endif
#ifdef LATHE_ARTIFACT_aarch64
LATHE_EMBED(lathe_artifact_aarch64, LATHE_ARTIFACT_aarch64)
#endif

namespace lathe::artifact {

std::span<const std::byte> runtime_object(Isa isa) {
#ifdef LATHE_ARTIFACT_x86
  if (isa == Isa::kX86) return {lathe_artifact_x86_begin, lathe_artifact_x86_end};
#endif
#ifdef LATHE_ARTIFACT_aarch64
  if (isa == Isa::kAArch64) return {lathe_artifact_aarch64_begin, lathe_artifact_aarch64_end};
#endif
  (void)isa;
  return {};
}

}  // namespace lathe::artifact
