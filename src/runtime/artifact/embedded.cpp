#include "runtime/artifact/embedded.h"

#include "base/embed.h"

#ifdef LATHE_ARTIFACT_x86
LATHE_EMBED(lathe_artifact_x86, LATHE_ARTIFACT_x86)
LATHE_EMBED(lathe_artifact_opencl_x86, LATHE_ARTIFACT_opencl_x86)
LATHE_EMBED(lathe_artifact_cuda_x86, LATHE_ARTIFACT_cuda_x86)
#endif
#ifdef LATHE_ARTIFACT_aarch64
LATHE_EMBED(lathe_artifact_aarch64, LATHE_ARTIFACT_aarch64)
LATHE_EMBED(lathe_artifact_opencl_aarch64, LATHE_ARTIFACT_opencl_aarch64)
LATHE_EMBED(lathe_artifact_cuda_aarch64, LATHE_ARTIFACT_cuda_aarch64)
#endif

namespace lathe::artifact {
namespace {

using Bytes = std::span<const std::byte>;

Bytes chosen(DeviceKind kind, Bytes cpu, Bytes opencl, Bytes cuda) {
  switch (kind) {
    case DeviceKind::kCpu: return cpu;
    case DeviceKind::kOpenCl: return opencl;
    case DeviceKind::kCuda: return cuda;
  }
  return {};
}

}  // namespace

std::span<const std::byte> runtime_object(DeviceKind kind, Isa isa) {
#ifdef LATHE_ARTIFACT_x86
  if (isa == Isa::kX86)
    return chosen(kind, {lathe_artifact_x86_begin, lathe_artifact_x86_end},
                  {lathe_artifact_opencl_x86_begin, lathe_artifact_opencl_x86_end},
                  {lathe_artifact_cuda_x86_begin, lathe_artifact_cuda_x86_end});
#endif
#ifdef LATHE_ARTIFACT_aarch64
  if (isa == Isa::kAArch64)
    return chosen(kind, {lathe_artifact_aarch64_begin, lathe_artifact_aarch64_end},
                  {lathe_artifact_opencl_aarch64_begin, lathe_artifact_opencl_aarch64_end},
                  {lathe_artifact_cuda_aarch64_begin, lathe_artifact_cuda_aarch64_end});
#endif
  return chosen(kind, {}, {}, {});
}

}  // namespace lathe::artifact
