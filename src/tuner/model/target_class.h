// The targets between which a global model carries over.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/target.h"

namespace lathe::model {

// Processors of one instruction set and width of vectors.
struct CpuClass {
  Isa isa = Isa::kX86;
  int vector_bits = 0;
  std::string text() const;
  friend auto operator<=>(const CpuClass&, const CpuClass&) = default;
};

// Devices that run OpenCL, by how they have local memory: of their own, or as a part of global.
struct OpenClClass {
  bool local_is_real = false;
  std::string text() const;  // "OpenCL, real local memory"
  friend auto operator<=>(const OpenClClass&, const OpenClClass&) = default;
};

// Cards of one architecture.
struct CudaClass {
  int architecture = 0;
  std::string text() const;  // "CUDA, sm_80"
  friend auto operator<=>(const CudaClass&, const CudaClass&) = default;
};

struct TargetClass {
  std::variant<CpuClass, OpenClClass, CudaClass> device;  // by DeviceKind
  std::string text() const;                               // "x86, 512-bit vectors"
  friend auto operator<=>(const TargetClass&, const TargetClass&) = default;
};

// `target` must be resolved.
TargetClass class_of(const Target& target);
Result<TargetClass> parse_target_class(std::string_view text);

}  // namespace lathe::model
