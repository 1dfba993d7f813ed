// This file goes into artifacts, which need libc only.
#include "runtime/artifact/opencl/checks.h"

#include "runtime/artifact/check.h"

namespace lathe::artifact {
namespace {

// Says what is wrong with a tensor.
std::int32_t refuse_tensor(lathe_handle& handle, std::int64_t i, const char* why) {
  handle.message.clear();
  handle.message.add("tensor \"").add(handle.tensor(i).name).add("\" ").add(why);
  return LATHE_INVALID_ARGUMENT;
}

std::int32_t refuse_overlap(lathe_handle& handle, std::int64_t a, std::int64_t b) {
  handle.message.clear();
  handle.message.add("tensors \"").add(handle.tensor(a).name).add("\" and \"");
  handle.message.add(handle.tensor(b).name).add("\" overlap in memory");
  return LATHE_INVALID_ARGUMENT;
}

// Where a buffer lies: sub-buffers lie in another one.
struct Place {
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
Place place_of(const lathe_handle& handle, opencl::Buffer buffer) {
  const auto whole = told_of_buffer<opencl::Buffer>(handle, buffer, opencl::kMemoryWhole);
  if (whole == nullptr) return {buffer, 0};
  return {whole, told_of_buffer<std::size_t>(handle, buffer, opencl::kMemoryOffset)};
}

}  // namespace

std::int32_t check_tensors(lathe_handle& handle, const DLTensor* const* inputs,
                           DLTensor* const* outputs) {
  const auto given = [&](std::int64_t i) {
    return i < handle.inputs() ? inputs[i] : outputs[i - handle.inputs()];
  };
  for (std::int64_t i = 0; i < handle.count(); ++i)
    if (!handle.tensor(i).constant && !check_tensor(handle.tensor(i), given(i), handle.message))
      return LATHE_INVALID_ARGUMENT;
  // Inputs are copied before an output is written; but no library of a processor takes such
  // tensors.
  for (std::int64_t out = handle.inputs(); out < handle.count(); ++out)
    for (std::int64_t other = 0; other < out; ++other) {
      if (handle.tensor(other).constant) continue;
      const char *a = address_of(*given(out)), *b = address_of(*given(other));
      if (a < b + handle.tensor(other).bytes && b < a + handle.tensor(out).bytes)
        return refuse_overlap(handle, other, out);
    }
  return LATHE_OK;
}

std::int32_t check_buffer(lathe_handle& handle, std::int64_t i, opencl::Buffer buffer) {
  if (buffer == nullptr) return refuse_tensor(handle, i, "is missing");
  if (told_of_buffer<opencl::Number>(handle, buffer, opencl::kMemoryType) != opencl::kTypeBuffer)
    return refuse_tensor(handle, i, "is no buffer of OpenCL");
  if (told_of_buffer<opencl::Context>(handle, buffer, opencl::kMemoryContext) !=
      handle.device.context)
    return refuse_tensor(handle, i, "is in another context than the handle");
  const auto bytes = told_of_buffer<std::size_t>(handle, buffer, opencl::kMemoryBytes);
  if (bytes >= static_cast<std::size_t>(handle.tensor(i).bytes)) return LATHE_OK;
  refuse_tensor(handle, i, "is a buffer of ");
  handle.message.add(static_cast<std::int64_t>(bytes)).add(" bytes, and needs ");
  handle.message.add(handle.tensor(i).bytes);
  return LATHE_INVALID_ARGUMENT;
}

std::int32_t check_places(lathe_handle& handle) {
  const auto bytes = [&](std::int64_t i) {
    return static_cast<std::size_t>(handle.tensor(i).bytes);
  };
  for (std::int64_t out = handle.inputs(); out < handle.count(); ++out) {
    const Place a = place_of(handle, handle.used[out]);
    for (std::int64_t other = 0; other < out; ++other) {
      if (handle.tensor(other).constant) continue;
      const Place b = place_of(handle, handle.used[other]);
      if (a.whole == b.whole && a.begin < b.begin + bytes(other) && b.begin < a.begin + bytes(out))
        return refuse_overlap(handle, other, out);
    }
  }
  return LATHE_OK;
}

}  // namespace lathe::artifact
