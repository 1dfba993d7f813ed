// What a program is generated for. The text of a processor is
// `cpu:MCPU[,+feature...][;isa=x86|aarch64][;threads=N]`, e.g. "cpu:znver5;threads=2",
// "cpu:x86-64,+avx2,+fma", "cpu:cortex-a72", "cpu:host". resolve_target() turns "host" into LLVM's
// name of this machine's CPU, so that a stored target is never "host"; it also finds the isa where
// the text gives none.
//
// A device that runs OpenCL is `opencl:NAME`: "opencl:generic" for what every
// device can do, "opencl:host" for the one of this machine, "opencl:FILE" for one that a JSON file
// describes.
//
// A card of NVIDIA is `cuda:NAME`; base/cuda/cuda_target.h says what names there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/cuda/cuda_target.h"
#include "base/result.h"

namespace lathe {

enum class Isa { kX86, kAArch64 };

inline constexpr int kMostThreads = 1024;

// What single instructions do, on vectors or for the lanes of a warp together; lowering writes out
// the rest of what is asked of vectors.
struct Abilities {
  bool rounding = false;  // floor, ceiling and nearest integer of f32 and f64
  bool f16 = false;       // conversions between f16 and f32
  bool scaling = false;   // x * 2^n, also where 2^n is no normal number
  bool fma = false;       // a * b + c, rounded once
  // Of a warp: products of tiles of matrices in f32, of factors rounded to TF32.
  bool tf32_tiles = false;
};

// What a device takes whose kernels run on grids.
struct Grids {
  std::int64_t most_items;   // of a group
  int most_lanes;            // of a vector, a power of two
  std::int64_t group_bytes;  // memory of a group
  int lanes = 1;             // of the vector of f32 that it prefers
  int units = 1;             // that groups are spread over
  bool copies = false;       // it has asynchronous copies into that
  bool exchanges = false;    // the items of a warp can exchange registers
  // Of results between kernels, at most; 0: as much as lowering allows.
  std::int64_t scratch_bytes = 0;
};

// What a processor's programs are generated for.
struct CpuTarget {
  std::string mcpu;                   // LLVM's name
  std::vector<std::string> features;  // "+avx2", "-avx512f", sorted
  Isa isa = Isa::kX86;
  bool isa_given = false;  // the text gave it; canonical text gives any but x86
  int threads = 1;         // that run the measured program

  // Derived from mcpu and features by the back end that resolves the target; zero until then.
  int vector_bits = 0;       // widest vector register: 128, 256 or 512
  int vector_registers = 0;  // 16 or 32
  bool has_fma = false;
  bool has_f16c = false;  // f16 <-> f32 conversion in hardware
  bool has_avx512_masks = false;

  int lanes(int element_bytes) const { return vector_bits / 8 / element_bytes; }
  std::string text() const;  // canonical
  // See Target.
  bool is_host() const { return mcpu == "host"; }
  const char* lacking_on(const CpuTarget& machine) const;
  Abilities abilities() const;
  std::optional<Grids> grids() const { return {}; }
};

// What a device's programs in OpenCL C are generated for.
struct OpenClTarget {
  std::string name;  // "generic", "host", the path of a description, or the driver's name of it

  // Derived from the name by the back end that resolves the target; zero until then.
  int compute_units = 0;
  std::int64_t group_items = 0;  // of a work group, at most
  std::int64_t local_bytes = 0;  // of local memory, for one work group
  bool local_is_real = false;    // false: it is a part of global memory, emulated
  int vector_width = 0;          // elements of the preferred vector of f32: 1, 2, 4, 8 or 16
  bool images = false, fp16 = false, fp64 = false;

  int lanes(int element_bytes) const;
  std::string text() const;  // canonical
  // See Target.
  bool is_host() const { return name == "host"; }
  const char* lacking_on(const OpenClTarget& machine) const;
  Abilities abilities() const {
    return {.rounding = true, .f16 = fp16, .scaling = false, .fma = true};
  }
  std::optional<Grids> grids() const;
};

// The order of the alternatives below.
enum class DeviceKind { kCpu, kOpenCl, kCuda };

struct Target {
  std::variant<CpuTarget, OpenClTarget, CudaTarget> device;

  DeviceKind kind() const { return static_cast<DeviceKind>(device.index()); }
  int lanes(int element_bytes) const;  // of the widest vector
  Abilities abilities() const;
  std::optional<Grids> grids() const;  // none: its kernels run on threads
  // The processor's threads that run a program, its caller's included; 1 where a device runs it.
  int threads() const;
  void set_threads(int number);                                    // of a device: nothing changes
  bool has_threads() const { return kind() == DeviceKind::kCpu; }  // that may be more than one
  // It stands for this machine's device, whatever that is; resolve_target() finds out.
  bool is_host() const;
  // Both resolved: what keeps this target's programs from running on `machine`, as the end of a
  // sentence about the machine ("has no AVX-512"); null if nothing does.
  const char* lacking_on(const Target& machine) const;
  // Of a target of that kind only.
  const CpuTarget& as_cpu() const { return std::get<CpuTarget>(device); }
  CpuTarget& as_cpu() { return std::get<CpuTarget>(device); }
  const OpenClTarget& as_opencl() const { return std::get<OpenClTarget>(device); }
  OpenClTarget& as_opencl() { return std::get<OpenClTarget>(device); }
  const CudaTarget& as_cuda() const { return std::get<CudaTarget>(device); }
  CudaTarget& as_cuda() { return std::get<CudaTarget>(device); }
  std::string text() const;  // canonical
  friend bool operator==(const Target& a, const Target& b) { return a.text() == b.text(); }
};

// Checks the syntax only: resolve_target() in compiler/codegen asks LLVM whether it knows the CPU.
Result<Target> parse_target(std::string_view text);

struct CpuFingerprint {
  std::string cpu_name;  // "Intel(R) Xeon(R) Processor"
  int family = 0, model = 0, stepping = 0;
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // of a core: L1 and L2; l3: the whole
  int cores = 0;
  std::string text() const;
  std::string cpu() const;
  std::string name() const { return cpu_name; }
};

struct OpenClFingerprint {
  std::string platform;  // "Portable Computing Language"
  std::string name_of_device;
  std::string driver;  // its version
  std::string text() const;
  std::string cpu() const;
  std::string name() const { return name_of_device; }
};

// The device that a measurement came from, stored with every record.
struct Fingerprint {
  std::variant<CpuFingerprint, OpenClFingerprint, CudaFingerprint> device;

  DeviceKind kind() const { return static_cast<DeviceKind>(device.index()); }
  // Of a device of that kind only.
  const CpuFingerprint& as_cpu() const { return std::get<CpuFingerprint>(device); }
  CpuFingerprint& as_cpu() { return std::get<CpuFingerprint>(device); }
  const OpenClFingerprint& as_opencl() const { return std::get<OpenClFingerprint>(device); }
  const CudaFingerprint& as_cuda() const { return std::get<CudaFingerprint>(device); }
  std::string text() const;  // canonical, one line
  // Times compare only between devices of one such text: family/model/stepping of a processor;
  // platform/device/driver of one that runs OpenCL; model/driver of a card.
  std::string cpu() const;
  std::string name() const;  // as its maker calls it
};
CpuFingerprint host_cpu();
Fingerprint host_fingerprint();

}  // namespace lathe
