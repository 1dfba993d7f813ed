#include "runtime/artifact/opencl/device.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace lathe::artifact {
namespace {

using opencl::Code;
using opencl::DeviceId;
using opencl::Number;
using opencl::Platform;

constexpr const char* kDriver =
    "the device's driver, or pocl-opencl-icd to run OpenCL programs on the processor";

std::int32_t refuse_device(const char* what, Message& message) {
  message.clear();
  message.add(what).add("; install ").add(kDriver);
  return LATHE_NO_DEVICE;
}

// What is asked of a device; zero where it does not tell.
template <class T>
T told(const OpenclDevice& device, DeviceId id, Number what) {
  T value{};
  if (device.api.GetDeviceInfo(id, what, sizeof value, &value, nullptr) != 0) return T{};
  return value;
}

struct Words {
  char text[512];
};
Words words_of(const OpenclDevice& device, DeviceId id, Number what) {
  Words words{};
  // A text that is too long for the place is an error, and then it counts as none.
  if (device.api.GetDeviceInfo(id, what, sizeof words.text, words.text, nullptr) != 0)
    words.text[0] = '\0';
  words.text[sizeof words.text - 1] = '\0';
  return words;
}

bool is_called(const OpenclDevice& device, Platform platform, DeviceId id, const char* part) {
  Words name{};
  if (device.api.GetPlatformInfo(platform, opencl::kPlatformName, sizeof name.text - 1, name.text,
                                 nullptr) == 0 &&
      ::strcasestr(name.text, part) != nullptr)
    return true;
  return ::strcasestr(words_of(device, id, opencl::kDeviceName).text, part) != nullptr ||
         ::strcasestr(words_of(device, id, opencl::kDeviceVendor).text, part) != nullptr;
}

// Lower is better.
int rank_of(const OpenclDevice& device, DeviceId id) {
  const auto type = told<opencl::Bitfield>(device, id, opencl::kDeviceType);
  if ((type & opencl::kTypeGpu) != 0) return 0;
  if ((type & opencl::kTypeAccelerator) != 0) return 1;
  return (type & opencl::kTypeCpu) != 0 ? 2 : 3;
}

struct Found {
  int devices = 0;  // of any name
  DeviceId best = nullptr;
};
Found find_device(const OpenclDevice& device, const Platform* platforms, Number count,
                  const char* part) {
  constexpr Number kMostDevices = 64;
  Found found;
  for (Number p = 0; p < count; ++p) {
    DeviceId ids[kMostDevices];
    Number devices = 0;
    if (device.api.GetDeviceIDs(platforms[p], opencl::kTypeAll, kMostDevices, ids, &devices) != 0)
      continue;
    for (Number d = 0; d < devices && d < kMostDevices; ++d) {
      if (told<Number>(device, ids[d], opencl::kAvailable) == 0 ||
          told<Number>(device, ids[d], opencl::kCompilerThere) == 0)
        continue;
      ++found.devices;
      if (!is_called(device, platforms[p], ids[d], part)) continue;
      if (found.best == nullptr || rank_of(device, ids[d]) < rank_of(device, found.best))
        found.best = ids[d];
    }
  }
  return found;
}

std::int32_t choose(OpenclDevice& device, Message& message) {
  constexpr Number kMostPlatforms = 32;
  Platform platforms[kMostPlatforms];
  Number count = 0;
  if (device.api.GetPlatformIDs(kMostPlatforms, platforms, &count) != 0 || count == 0)
    return refuse_device("OpenCL has no platform on this machine", message);
  const char* wanted = secure_getenv("LATHE_OPENCL_DEVICE");
  const Found found =
      find_device(device, platforms, count < kMostPlatforms ? count : kMostPlatforms,
                  wanted != nullptr ? wanted : "");
  if (found.devices == 0)
    return refuse_device("OpenCL has no device with a compiler on this machine", message);
  if (found.best == nullptr) {
    message.clear();
    message.add("no device of OpenCL is called ").add(wanted);
    message.add(", as LATHE_OPENCL_DEVICE asks; unset it, or give a part of another's name");
    return LATHE_NO_DEVICE;
  }
  device.id = found.best;
  return LATHE_OK;
}

// The value of a queue that is asked for; null or zero where it does not tell.
template <class T>
T told_of_queue(const OpenclDevice& device, opencl::Queue queue, Number what) {
  T value[1]{};
  if (device.api.GetCommandQueueInfo(queue, what, sizeof value, value, nullptr) != 0) return T{};
  return value[0];
}

}  // namespace

std::int32_t failed(Code code, const char* what, Message& message) {
  message.clear();
  message.add(what).add(" (");
  const char* const name = opencl::standard_name(code);
  if (name != nullptr) message.add(name).add(")");
  else message.add("code ").add(code).add(")");
  const bool memory = code == opencl::kOutOfHostMemory || code == opencl::kMemoryAllocationFailed;
  return memory ? LATHE_OUT_OF_MEMORY : LATHE_DEVICE_FAILED;
}

std::int32_t open_library(OpenclDevice& device, Message& message) {
  const char* const named = secure_getenv("LATHE_OPENCL_LIBRARY");
  const char* const name = named != nullptr && *named != '\0' ? named : opencl::kLibrary;
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    message.clear();
    message.add("OpenCL's library ").add(name);
    message.add(" cannot be opened; install ocl-icd-libopencl1 and ").add(kDriver);
    return LATHE_NO_DEVICE;
  }
  if (const char* const missing = opencl::find_functions(library, device.api)) {
    message.clear();
    message.add("OpenCL's library ").add(name).add(" has no ").add(missing);
    message.add("; install one of version 1.2 or later, as ocl-icd-libopencl1");
    return LATHE_NO_DEVICE;
  }
  return LATHE_OK;
}

std::int32_t open_device(OpenclDevice& device, Message& message) {
  if (const std::int32_t status = choose(device, message); status != LATHE_OK) return status;
  Code code = 0;
  device.context = device.api.CreateContext(nullptr, 1, &device.id, nullptr, nullptr, &code);
  if (code != 0) {
    device.context = nullptr;
    return failed(code, "the device of OpenCL cannot be opened", message);
  }
  device.queue = device.api.CreateCommandQueue(device.context, device.id, 0, &code);
  if (code == 0) return LATHE_OK;
  device.queue = nullptr;
  return failed(code, "the device of OpenCL gives no queue", message);
}

std::int32_t adopt_device(OpenclDevice& device, void* context, void* queue, Message& message) {
  auto* const given = static_cast<opencl::Queue>(queue);
  const auto own = told_of_queue<opencl::Context>(device, given, opencl::kQueueContext);
  device.id = told_of_queue<DeviceId>(device, given, opencl::kQueueDevice);
  if (own == nullptr || device.id == nullptr) {
    message.clear();
    message.add("the queue is none of OpenCL's");
    return LATHE_INVALID_ARGUMENT;
  }
  if (context != nullptr && context != own) {
    message.clear();
    message.add("the queue is of another context");
    return LATHE_INVALID_ARGUMENT;
  }
  device.context = own;
  const std::int32_t status = check_queue(device, given, message);
  device.context = nullptr;  // it is not kept yet
  if (status != LATHE_OK) return status;
  Code code = device.api.RetainContext(own);
  if (code != 0) return failed(code, "the context cannot be kept", message);
  device.context = own;
  code = device.api.RetainCommandQueue(given);
  if (code != 0) return failed(code, "the queue cannot be kept", message);
  device.queue = given;
  return LATHE_OK;
}

std::int32_t check_queue(const OpenclDevice& device, opencl::Queue queue, Message& message) {
  const auto refuse = [&](const char* why) {
    message.clear();
    message.add(why);
    return std::int32_t{LATHE_INVALID_ARGUMENT};
  };
  if (told_of_queue<opencl::Context>(device, queue, opencl::kQueueContext) != device.context)
    return refuse("the queue is of another context than the handle");
  if (told_of_queue<DeviceId>(device, queue, opencl::kQueueDevice) != device.id)
    return refuse("the queue is of another device than the handle");
  const auto properties = told_of_queue<opencl::Bitfield>(device, queue, opencl::kQueueProperties);
  if ((properties & opencl::kQueueOutOfOrder) != 0)
    return refuse("the queue works out of order; give one that works in order");
  return LATHE_OK;
}

void release(OpenclDevice& device) {
  if (device.queue != nullptr) device.api.ReleaseCommandQueue(device.queue);
  if (device.context != nullptr) device.api.ReleaseContext(device.context);
  device.queue = nullptr;
  device.context = nullptr;
}

std::int32_t make_buffer(const OpenclDevice& device, std::int64_t bytes, opencl::Buffer& buffer,
                         Message& message) {
  constexpr std::int64_t kLeast = 64;  // there are no empty buffers
  Code code = 0;
  buffer = device.api.CreateBuffer(device.context, opencl::kReadWrite,
                                   static_cast<std::size_t>(bytes < kLeast ? kLeast : bytes),
                                   nullptr, &code);
  if (code == 0) return LATHE_OK;
  buffer = nullptr;
  message.clear();
  message.add("the device gives no buffer of ").add(bytes).add(" bytes");
  if (const char* const name = opencl::standard_name(code)) message.add(" (").add(name).add(")");
  return LATHE_OUT_OF_MEMORY;
}

}  // namespace lathe::artifact
