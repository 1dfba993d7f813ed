// This file goes into artifacts, which need libc only.
#include "runtime/artifact/opencl/checks.h"

namespace lathe::artifact {
namespace {

// Where a buffer lies: sub-buffers lie in another one.
struct BufferPlace {
  opencl::Buffer whole = nullptr;
  std::size_t begin = 0;
};
template <class T>
T told_of_buffer(const lathe_handle& handle, opencl::Buffer buffer, opencl::Number what) {
  T value[1]{};
  if (handle.device.api.GetMemObjectInfo(buffer, what, sizeof value, value, nullptr) != 0)
    return T{};
  return value[0];
}
BufferPlace place_of(const lathe_handle& handle, opencl::Buffer buffer) {
  const auto whole = told_of_buffer<opencl::Buffer>(handle, buffer, opencl::kMemoryWhole);
  if (whole == nullptr) return {buffer, 0};
  return {whole, told_of_buffer<std::size_t>(handle, buffer, opencl::kMemoryOffset)};
}

}  // namespace

std::int32_t check_buffer(lathe_handle& handle, std::int64_t i, opencl::Buffer buffer) {
  if (buffer == nullptr) return handle.refuse_tensor(i, "is missing");
  if (told_of_buffer<opencl::Number>(handle, buffer, opencl::kMemoryType) != opencl::kTypeBuffer)
    return handle.refuse_tensor(i, "is no buffer of OpenCL");
  if (told_of_buffer<opencl::Context>(handle, buffer, opencl::kMemoryContext) !=
      handle.device.context)
    return handle.refuse_tensor(i, "is in another context than the handle");
  const auto bytes = told_of_buffer<std::size_t>(handle, buffer, opencl::kMemoryBytes);
  if (bytes >= static_cast<std::size_t>(handle.tensor(i).bytes)) return LATHE_OK;
  handle.refuse_tensor(i, "is a buffer of ");
  handle.message.add(static_cast<std::int64_t>(bytes)).add(" bytes, and needs ");
  handle.message.add(handle.tensor(i).bytes);
  return LATHE_INVALID_ARGUMENT;
}

std::int32_t check_places(lathe_handle& handle) {
  const auto bytes = [&](std::int64_t i) {
    return static_cast<std::size_t>(handle.tensor(i).bytes);
  };
  for (std::int64_t out = handle.inputs(); out < handle.count(); ++out) {
    const BufferPlace a = place_of(handle, handle.used[out]);
    for (std::int64_t other = 0; other < out; ++other) {
      if (handle.tensor(other).constant) continue;
      const BufferPlace b = place_of(handle, handle.used[other]);
      if (a.whole == b.whole && a.begin < b.begin + bytes(other) && b.begin < a.begin + bytes(out))
        return handle.refuse_overlap(other, out);
    }
  }
  return LATHE_OK;
}

}  // namespace lathe::artifact
