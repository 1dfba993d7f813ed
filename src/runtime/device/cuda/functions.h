// The functions of NVIDIA's driver that Lathe calls, found in a library that is open: our own
// declarations, of exactly what is used, with the names of the driver for what a reader looks up
// there. Where the driver has several versions of a function, find_functions() says which one this
// is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lathe::cuda {

using Code = int;               // 0: it worked
using Address = std::uint64_t;  // of memory on the card
using Number = unsigned int;
using DeviceId = int;
using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Graph = struct OpaqueGraph*;
using GraphExec = struct OpaqueGraphExec*;
using Link = struct OpaqueLink*;
struct Uuid {
  unsigned char bytes[16];
};

inline constexpr Code kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kNotReady = 600;

// Attributes of a card.
inline constexpr int kThreadsOfBlock = 1, kGridX = 5, kGridY = 6, kGridZ = 7,
                     kRegistersOfBlock = 12, kClockRate = 13, kMultiprocessors = 16,
                     kMemoryClockRate = 36, kBusWidth = 37, kL2Bytes = 38,
                     kThreadsOfMultiprocessor = 39, kCapabilityMajor = 75, kCapabilityMinor = 76,
                     kSharedOfMultiprocessor = 81, kRegistersOfMultiprocessor = 82,
                     kSharedOfBlockOptIn = 97, kBlocksOfMultiprocessor = 106,
                     kReservedOfBlock = 111;
// Attributes of a function.
inline constexpr int kMostThreads = 0, kSharedBytes = 1, kLocalBytes = 3, kRegisters = 4,
                     kMostDynamicShared = 8;
// Options of assembling.
inline constexpr int kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6,
                     kLogVerbose = 12;
// Kinds of input of a link.
inline constexpr int kInputPtx = 1;
// Attributes of a pointer.
inline constexpr int kPointerDevice = 9;
// Flags.
inline constexpr Number kContextSpins = 1, kStreamNonBlocking = 1, kEventDefault = 0;
inline constexpr int kCaptureOfThread = 1;

// The functions, each with the name of the driver without its `cu`.
struct Api {
  template <class F>
  using To = std::add_pointer_t<F>;

  To<Code(Number)> Init;
  To<Code(int*)> DriverGetVersion;
  To<Code(Code, const char**)> GetErrorName;
  To<Code(Code, const char**)> GetErrorString;
  To<Code(int*)> DeviceGetCount;
  To<Code(DeviceId*, int)> DeviceGet;
  To<Code(char*, int, DeviceId)> DeviceGetName;
  To<Code(Uuid*, DeviceId)> DeviceGetUuid;
  To<Code(std::size_t*, DeviceId)> DeviceTotalMem;
  To<Code(int*, int, DeviceId)> DeviceGetAttribute;
  To<Code(Context*, Number, DeviceId)> CtxCreate;
  To<Code(Context)> CtxDestroy;
  To<Code()> CtxSynchronize;
  To<Code(Context*)> CtxGetCurrent;
  To<Code(DeviceId*)> CtxGetDevice;
  To<Code(Context)> CtxPushCurrent;
  To<Code(Context*)> CtxPopCurrent;
  To<Code(Context*, DeviceId)> DevicePrimaryCtxRetain;
  To<Code(DeviceId)> DevicePrimaryCtxRelease;
  To<Code(void*, int, Address)> PointerGetAttribute;
  To<Code(std::size_t*, std::size_t*)> MemGetInfo;
  To<Code(Address*, std::size_t)> MemAlloc;
  To<Code(Address)> MemFree;
  To<Code(Address, const void*, std::size_t, Stream)> MemcpyHtoDAsync;
  To<Code(void*, Address, std::size_t, Stream)> MemcpyDtoHAsync;
  To<Code(Address, Address, std::size_t, Stream)> MemcpyDtoDAsync;
  To<Code(Address, unsigned char, std::size_t, Stream)> MemsetD8Async;
  To<Code(Number, int*, void**, Link*)> LinkCreate;
  To<Code(Link, int, void*, std::size_t, const char*, Number, int*, void**)> LinkAddData;
  To<Code(Link, void**, std::size_t*)> LinkComplete;
  To<Code(Link)> LinkDestroy;
  To<Code(Module*, const void*, Number, int*, void**)> ModuleLoadDataEx;
  To<Code(Module)> ModuleUnload;
  To<Code(Function*, Module, const char*)> ModuleGetFunction;
  To<Code(int*, int, Function)> FuncGetAttribute;
  To<Code(Function, int, int)> FuncSetAttribute;
  To<Code(Function, Number, Number, Number, Number, Number, Number, Number, Stream, void**, void**)>
      LaunchKernel;
  To<Code(Stream*, Number)> StreamCreate;
  To<Code(Stream)> StreamDestroy;
  To<Code(Stream)> StreamSynchronize;
  To<Code(Stream, Context*)> StreamGetCtx;
  To<Code(Stream, int*)> StreamIsCapturing;
  To<Code(Stream, int)> StreamBeginCapture;
  To<Code(Stream, Graph*)> StreamEndCapture;
  To<Code(GraphExec*, Graph, unsigned long long)> GraphInstantiateWithFlags;
  To<Code(GraphExec, Stream)> GraphLaunch;
  To<Code(GraphExec)> GraphExecDestroy;
  To<Code(Graph)> GraphDestroy;
  To<Code(Event*, Number)> EventCreate;
  To<Code(Event, Stream)> EventRecord;
  To<Code(Event)> EventSynchronize;
  To<Code(float*, Event, Event)> EventElapsedTime;
  To<Code(Event)> EventDestroy;
};

inline constexpr const char* kLibrary = "libcuda.so.1";
// The oldest driver whose functions these are: of CUDA 11.4.
inline constexpr int kOldestCuda = 11040;

// Finds all of them in a library that dlopen() gave. Returns the name of the first that is missing,
// or null.
const char* find_functions(void* library, Api& api);

}  // namespace lathe::cuda
