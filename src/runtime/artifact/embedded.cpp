#include "runtime/artifact/embedded.h"

#include "base/embed.h"

#ifdef LATHE_ARTIFACT_x86
LATHE_EMBED(lathe_artifact_x86, LATHE_ARTIFACT_x86)
LATHE_EMBED(lathe_artifact_opencl_x86, LATHE_ARTIFACT_opencl_x86)
#endif
#ifdef LATHE_ARTIFACT_aarch64
LATHE_EMBED(lathe_artifact_aarch64, LATHE_ARTIFACT_aarch64)
LATHE_EMBED(lathe_artifact_opencl_aarch64, LATHE_ARTIFACT_opencl_aarch64)
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

std::span<const std::byte> opencl_runtime_object(Isa isa) {
#ifdef LATHE_ARTIFACT_x86
  if (isa == Isa::kX86) return {lathe_artifact_opencl_x86_begin, lathe_artifact_opencl_x86_end};
#endif
#ifdef LATHE_ARTIFACT_aarch64
  if (isa == Isa::kAArch64)
    return {lathe_artifact_opencl_aarch64_begin, lathe_artifact_opencl_aarch64_end};
#endif
  (void)isa;
  return {};
}

}  // namespace lathe::artifact
