// This file goes into artifacts, which need libc only.
#include "runtime/artifact/cuda/launch.h"

namespace lathe::artifact {
namespace {

// Every tensor begins at a multiple of so many bytes: kernels load and store as many at once.
constexpr std::int64_t kTensorAlignment = 16;

cuda::Address argument_of(const lathe_handle& handle, std::int64_t area, std::int64_t position) {
  switch (area) {
    case LATHE_AREA_INPUT: return handle.used[position];
    case LATHE_AREA_OUTPUT: return handle.used[handle.inputs() + position];
    case LATHE_AREA_CONSTANT: return handle.constants;
    default: return handle.scratch;
  }
}

}  // namespace

Place place_of(const lathe_handle& handle) {
  return {{kDLCUDA, handle.device.id}, kTensorAlignment};
}

std::int32_t check_address(lathe_handle& handle, std::int64_t i, cuda::Address address) {
  if (handle.tensor(i).bytes == 0) return LATHE_OK;
  int card = -1;
  const cuda::Code code =
      handle.device.api.PointerGetAttribute(&card, cuda::kPointerDevice, address);
  if (code == cuda::kInvalidValue)
    return handle.refuse_tensor(i, "is said to be on a card, and its memory is not");
  if (code != 0)
    return failed(handle.device, code, "the driver does not tell whose memory is", handle.message);
  if (card == handle.device.id) return LATHE_OK;
  handle.refuse_tensor(i, "has its memory on card ");
  handle.message.add(card).add(", and the handle is of card ").add(handle.device.id);
  return LATHE_INVALID_ARGUMENT;
}

std::int32_t launch(lathe_handle& handle, cuda::Stream stream, std::int64_t begin,
                    std::int64_t end) {
  const auto number = [](std::int64_t value) { return static_cast<cuda::Number>(value); };
  for (std::int64_t l = begin; l < end; ++l) {
    const lathe_launch& one = handle.program->launches[l];
    for (std::int64_t a = 0; a < one.count; ++a)
      handle.arguments[a] = argument_of(handle, one.arguments[2 * a], one.arguments[2 * a + 1]);
    const cuda::Code code = handle.device.api.LaunchKernel(
        handle.functions[l], number(one.groups[0]), number(one.groups[1]), number(one.groups[2]),
        number(one.items[0]), number(one.items[1]), number(one.items[2]), number(one.group_bytes),
        stream, handle.parameters, nullptr);
    if (code != 0)
      return failed(handle.device, code, "the card does not take a kernel", handle.message);
  }
  return LATHE_OK;
}

}  // namespace lathe::artifact
