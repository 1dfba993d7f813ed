// The functions of OpenCL that Lathe calls, found in a library that is open: our own declarations,
// of exactly what is used, with the names of the standard for what a reader looks up there.
// Exported libraries contain this, too, so it needs libc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lathe::opencl {

using Code = std::int32_t;       // 0: it worked
using Number = std::uint32_t;    // cl_uint, cl_bool and the names of properties
using Bitfield = std::uint64_t;  // cl_bitfield
using Platform = struct OpaquePlatform*;
using DeviceId = struct OpaqueDevice*;
using Context = struct OpaqueContext*;
using Queue = struct OpaqueQueue*;
using Buffer = struct OpaqueBuffer*;
using Built = struct OpaqueProgram*;
using Kernel = struct OpaqueKernel*;
using Event = struct OpaqueEvent*;

inline constexpr Code kBuildFailed = -11, kNoDevice = -1, kNoPlatform = -1001;
inline constexpr Code kOutOfHostMemory = -6, kMemoryAllocationFailed = -4;

// Names of properties.
inline constexpr Number kPlatformName = 0x0902;
inline constexpr Number kDeviceType = 0x1000, kComputeUnits = 0x1002, kItemSizes = 0x1005,
                        kMaxGroupSize = 0x1004, kPreferredFloats = 0x100A, kMaxAllocation = 0x1010,
                        kImageSupport = 0x1016, kBaseAlignment = 0x1019, kCacheBytes = 0x101E,
                        kGlobalBytes = 0x101F, kLocalType = 0x1022, kLocalBytes = 0x1023,
                        kTimerResolution = 0x1025, kAvailable = 0x1027, kCompilerThere = 0x1028,
                        kDeviceName = 0x102B, kDeviceVendor = 0x102C, kDriverVersion = 0x102D,
                        kDeviceVersion = 0x102F, kExtensions = 0x1030;
inline constexpr Number kQueueContext = 0x1090, kQueueDevice = 0x1091, kQueueProperties = 0x1093;
inline constexpr Number kMemoryType = 0x1100, kMemoryBytes = 0x1102, kMemoryContext = 0x1106,
                        kMemoryWhole = 0x1107, kMemoryOffset = 0x1108;
inline constexpr Number kBuildLog = 0x1183;
inline constexpr Number kBinarySizes = 0x1165, kBinaries = 0x1166;
inline constexpr Number kArgumentCount = 0x1191;
inline constexpr Number kKernelGroupSize = 0x11B0, kKernelLocalBytes = 0x11B2;
inline constexpr Number kEventStatus = 0x11D3;
inline constexpr Number kEventStart = 0x1282, kEventEnd = 0x1283;
// Their values.
inline constexpr Bitfield kTypeCpu = 2, kTypeGpu = 4, kTypeAccelerator = 8, kTypeAll = 0xFFFFFFFF;
inline constexpr Number kLocalIsReal = 1;
inline constexpr Number kTypeBuffer = 0x10F0;
inline constexpr Bitfield kQueueOutOfOrder = 1, kQueueProfiles = 2;
inline constexpr Bitfield kReadWrite = 1;
inline constexpr Number kSubRegion = 0x1220;
struct SubRegion {
  std::size_t origin, size;
};

// The functions, each with the name of the standard without its `cl`.
struct Api {
  template <class F>
  using To = std::add_pointer_t<F>;

  To<Code(Number, Platform*, Number*)> GetPlatformIDs;
  To<Code(Platform, Number, std::size_t, void*, std::size_t*)> GetPlatformInfo;
  To<Code(Platform, Bitfield, Number, DeviceId*, Number*)> GetDeviceIDs;
  To<Code(DeviceId, Number, std::size_t, void*, std::size_t*)> GetDeviceInfo;
  To<Context(const std::intptr_t*, Number, const DeviceId*, void*, void*, Code*)> CreateContext;
  To<Code(Context)> RetainContext;
  To<Code(Context)> ReleaseContext;
  To<Queue(Context, DeviceId, Bitfield, Code*)> CreateCommandQueue;
  To<Code(Queue)> RetainCommandQueue;
  To<Code(Queue)> ReleaseCommandQueue;
  To<Code(Queue, Number, std::size_t, void*, std::size_t*)> GetCommandQueueInfo;
  To<Buffer(Context, Bitfield, std::size_t, void*, Code*)> CreateBuffer;
  To<Buffer(Buffer, Bitfield, Number, const void*, Code*)> CreateSubBuffer;
  To<Code(Buffer)> ReleaseMemObject;
  To<Code(Buffer, Number, std::size_t, void*, std::size_t*)> GetMemObjectInfo;
  To<Built(Context, Number, const char**, const std::size_t*, Code*)> CreateProgramWithSource;
  To<Built(Context, Number, const DeviceId*, const std::size_t*, const unsigned char**, Code*,
           Code*)>
      CreateProgramWithBinary;
  To<Code(Built, Number, const DeviceId*, const char*, void*, void*)> BuildProgram;
  To<Code(Built, DeviceId, Number, std::size_t, void*, std::size_t*)> GetProgramBuildInfo;
  To<Code(Built, Number, std::size_t, void*, std::size_t*)> GetProgramInfo;
  To<Code(Built)> ReleaseProgram;
  To<Kernel(Built, const char*, Code*)> CreateKernel;
  To<Code(Kernel)> ReleaseKernel;
  To<Code(Kernel, Number, std::size_t, const void*)> SetKernelArg;
  To<Code(Kernel, Number, std::size_t, void*, std::size_t*)> GetKernelInfo;
  To<Code(Kernel, DeviceId, Number, std::size_t, void*, std::size_t*)> GetKernelWorkGroupInfo;
  To<Code(Queue, Kernel, Number, const std::size_t*, const std::size_t*, const std::size_t*, Number,
          const Event*, Event*)>
      EnqueueNDRangeKernel;
  To<Code(Queue, Buffer, Number, std::size_t, std::size_t, void*, Number, const Event*, Event*)>
      EnqueueReadBuffer;
  To<Code(Queue, Buffer, Number, std::size_t, std::size_t, const void*, Number, const Event*,
          Event*)>
      EnqueueWriteBuffer;
  To<Code(Queue, Buffer, const void*, std::size_t, std::size_t, std::size_t, Number, const Event*,
          Event*)>
      EnqueueFillBuffer;
  To<Code(Queue)> Flush;
  To<Code(Queue)> Finish;
  To<Code(Event, Number, std::size_t, void*, std::size_t*)> GetEventInfo;
  To<Code(Event, Number, std::size_t, void*, std::size_t*)> GetEventProfilingInfo;
  To<Code(Event)> ReleaseEvent;
};

inline constexpr const char* kLibrary = "libOpenCL.so.1";

// Finds all of them in a library that dlopen() gave. Returns the name of the first that is missing,
// or null.
const char* find_functions(void* library, Api& api);

// What the standard calls a code: "CL_OUT_OF_RESOURCES"; null if it has no name there.
const char* standard_name(Code code);

}  // namespace lathe::opencl
