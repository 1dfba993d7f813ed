// This file goes into artifacts, which need libc only.
#include "runtime/artifact/cuda/device.h"

#include <dlfcn.h>

#include <cstdlib>

namespace lathe::artifact {
namespace {

using cuda::Code;

constexpr const char* kInstall = "install NVIDIA's driver for this machine's card";

std::int32_t refuse_driver(const CudaDevice& device, const char* what, Code code,
                           const char* advice, Message& message) {
  message.clear();
  message.add(what);
  if (code != 0) add_name(device, code, message);
  message.add("; ").add(advice);
  return LATHE_NO_DEVICE;
}

void add_version(std::int64_t version, Message& message) {
  message.add(version / 1000).add(".").add(version % 1000 / 10);
}

std::int32_t check_version(const CudaDevice& device, Message& message) {
  int version = 0;
  if (const Code code = device.api.DriverGetVersion(&version); code != 0)
    return refuse_driver(device, "NVIDIA's driver does not tell its version", code, kInstall,
                         message);
  if (version >= cuda::kOldestCuda) return LATHE_OK;
  message.clear();
  message.add("NVIDIA's driver is too old: it knows CUDA ");
  add_version(version, message);
  message.add(", and ");
  add_version(cuda::kOldestCuda, message);
  message.add(" is the oldest that will do; install a newer driver");
  return LATHE_NO_DEVICE;
}

// Codes after which nothing of a context works any more.
bool is_of_lost_context(Code code) {
  constexpr Code kIllegalAddress = 700, kTimeout = 702, kDestroyed = 709, kFirst = 714, kLast = 719;
  return code == kIllegalAddress || code == kTimeout || code == kDestroyed ||
         (code >= kFirst && code <= kLast);
}

constexpr const char* kNoCard = "NVIDIA's driver finds no card";
constexpr const char* kLookAt = "look at CUDA_VISIBLE_DEVICES and at what nvidia-smi lists";

}  // namespace

void add_name(const CudaDevice& device, Code code, Message& message) {
  const char* name = nullptr;
  if (device.api.GetErrorName(code, &name) != 0) name = nullptr;
  message.add(" (");
  if (name != nullptr) message.add(name).add(")");
  else message.add("code ").add(code).add(")");
}

std::int32_t failed(const CudaDevice& device, Code code, const char* what, Message& message) {
  message.clear();
  message.add(what);
  add_name(device, code, message);
  if (is_of_lost_context(code))
    message.add("; nothing of this context works any more, so end the process");
  return code == cuda::kOutOfMemory ? LATHE_OUT_OF_MEMORY : LATHE_DEVICE_FAILED;
}

std::int32_t open_driver(CudaDevice& device, Message& message) {
  const char* const named = secure_getenv("LATHE_CUDA_LIBRARY");
  const char* const name = named != nullptr && *named != '\0' ? named : cuda::kLibrary;
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    message.clear();
    message.add("the library of NVIDIA's driver, ").add(name).add(", cannot be opened; ");
    message.add(kInstall);
    return LATHE_NO_DEVICE;
  }
  if (const char* const missing = cuda::find_functions(library, device.api)) {
    message.clear();
    message.add(name).add(" has no ").add(missing);
    message.add("; install a driver of NVIDIA that knows CUDA ");
    add_version(cuda::kOldestCuda, message);
    message.add(" or newer");
    return LATHE_NO_DEVICE;
  }
  if (const std::int32_t status = check_version(device, message); status != LATHE_OK) return status;
  const Code code = device.api.Init(0);
  if (code == 0) return LATHE_OK;
  if (code == cuda::kNoDevice) return refuse_driver(device, kNoCard, code, kLookAt, message);
  return refuse_driver(device, "NVIDIA's driver does not begin", code,
                       "nvidia-smi may tell more of it", message);
}

std::int32_t find_context(CudaDevice& device, Message& message) {
  const cuda::Api& api = device.api;
  Code code = api.CtxGetCurrent(&device.context);
  if (code == 0 && device.context != nullptr) code = api.CtxGetDevice(&device.id);
  if (code != 0)
    return failed(device, code, "the driver does not tell the current context", message);
  if (device.context != nullptr) return LATHE_OK;
  int count = 0;
  code = api.DeviceGetCount(&count);
  if (code != 0 || count == 0) return refuse_driver(device, kNoCard, code, kLookAt, message);
  code = api.DeviceGet(&device.id, 0);
  if (code == 0) code = api.DevicePrimaryCtxRetain(&device.context, device.id);
  device.keeps_primary = code == 0;
  if (code == 0) return LATHE_OK;
  device.context = nullptr;
  return failed(device, code, "the card cannot be opened", message);
}

std::int32_t allocate(const CudaDevice& device, std::int64_t bytes, cuda::Address& address,
                      Message& message) {
  address = 0;
  if (bytes == 0) return LATHE_OK;
  const Code code = device.api.MemAlloc(&address, static_cast<std::size_t>(bytes));
  if (code == 0) return LATHE_OK;
  address = 0;
  if (code != cuda::kOutOfMemory) return failed(device, code, "the card gives no memory", message);
  std::size_t free = 0, total = 0;
  device.api.MemGetInfo(&free, &total);
  message.clear();
  message.add("the card gives no memory of ").add(bytes).add(" bytes: ");
  message.add(static_cast<std::int64_t>(free)).add(" of its ");
  message.add(static_cast<std::int64_t>(total)).add(" are free");
  add_name(device, code, message);
  return LATHE_OUT_OF_MEMORY;
}

std::int32_t check_stream(const CudaDevice& device, cuda::Stream stream, Message& message) {
  // These stand for the default streams of whatever context is current.
  constexpr std::uintptr_t kLastNumber = 2;
  if (reinterpret_cast<std::uintptr_t>(stream) <= kLastNumber) return LATHE_OK;
  cuda::Context own = nullptr;
  const Code code = device.api.StreamGetCtx(stream, &own);
  if (code != 0)
    return failed(device, code, "the driver does not tell the stream's context", message);
  if (own == device.context) return LATHE_OK;
  message.clear();
  message.add("the stream is of another context than the handle, which was made in the one that ");
  message.add("was current for create");
  return LATHE_INVALID_ARGUMENT;
}

Current::Current(const CudaDevice& device, Message& message) : device_(device), status_(LATHE_OK) {
  const Code code = device.api.CtxPushCurrent(device.context);
  if (code != 0)
    status_ = failed(device, code, "the handle's context cannot be made current", message);
}

Current::~Current() {
  cuda::Context popped = nullptr;
  if (status_ == LATHE_OK) device_.api.CtxPopCurrent(&popped);
}

}  // namespace lathe::artifact
