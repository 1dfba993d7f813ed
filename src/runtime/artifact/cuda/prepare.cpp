// This file goes into artifacts, which need libc only.
#include "runtime/artifact/cuda/prepare.h"

#include "runtime/artifact/cuda/launch.h"

namespace lathe::artifact {
namespace {

std::int32_t finish(lathe_handle& handle, cuda::Stream stream, std::int32_t status) {
  const cuda::Code code = handle.device.api.StreamSynchronize(stream);
  if (status != LATHE_OK || code == 0) return status;
  return failed(handle.device, code, "the card did not finish the constants", handle.message);
}

// Copies a constant to a place on the card, in the stream's order.
std::int32_t copy(lathe_handle& handle, std::int64_t i, const DLTensor& from, cuda::Address to,
                  cuda::Stream stream) {
  const auto bytes = static_cast<std::size_t>(handle.tensor(i).bytes);
  const cuda::Code code =
      is_of_processor(from.device)
          ? handle.device.api.MemcpyHtoDAsync(to, address_of(from), bytes, stream)
          : handle.device.api.MemcpyDtoDAsync(to, card_address_of(from), bytes, stream);
  if (code == 0) return LATHE_OK;
  return failed(handle.device, code, "a constant cannot be copied on the card", handle.message);
}

// What prepare() needs of the memory that a constant is given in; freed by release_borrowed().
std::int32_t take_constant(lathe_handle& handle, std::int64_t i, const DLTensor& given,
                           cuda::Stream stream) {
  handle.used[i] = handle.own[i];
  if (handle.tensor(i).bytes == 0) return LATHE_OK;
  if (handle.own[i] == 0 && !is_of_processor(given.device)) {
    handle.used[i] = card_address_of(given);
    return LATHE_OK;
  }
  if (handle.own[i] == 0) {
    const std::int32_t status =
        allocate(handle.device, handle.tensor(i).bytes, handle.used[i], handle.message);
    if (status != LATHE_OK) return status;
  }
  return copy(handle, i, given, handle.used[i], stream);
}

// Copies of constants in the processor's memory that only prepare() read.
void release_borrowed(lathe_handle& handle, const DLTensor* const* inputs) {
  for (std::int64_t i = 0; i < handle.inputs(); ++i) {
    if (!handle.tensor(i).constant || handle.own[i] != 0) continue;
    if (is_of_processor(inputs[i]->device)) release(handle.device, handle.used[i]);
    handle.used[i] = 0;
  }
}

}  // namespace

void release(const CudaDevice& device, cuda::Address& address) {
  if (address != 0) device.api.MemFree(address);
  address = 0;
}

std::int32_t check_constants(lathe_handle& handle, const DLTensor* const* inputs) {
  if (inputs == nullptr) return handle.refuse(LATHE_INVALID_ARGUMENT, "there are no inputs");
  for (std::int64_t i = 0; i < handle.inputs(); ++i) {
    if (!handle.tensor(i).constant) continue;
    const bool here = inputs[i] != nullptr && is_of_processor(inputs[i]->device);
    const Place place = here ? kInProcessor : place_of(handle);
    if (!check_tensor(handle.tensor(i), inputs[i], handle.message, place))
      return LATHE_INVALID_ARGUMENT;
    if (here) continue;
    const std::int32_t status = check_address(handle, i, card_address_of(*inputs[i]));
    if (status != LATHE_OK) return status;
  }
  return LATHE_OK;
}

std::int32_t check_capture(lathe_handle& handle, cuda::Stream stream) {
  int capturing = 0;
  const cuda::Code code = handle.device.api.StreamIsCapturing(stream, &capturing);
  if (code != 0)
    return failed(handle.device, code, "the driver does not tell whether the stream is captured",
                  handle.message);
  if (capturing == 0) return LATHE_OK;
  return handle.refuse(LATHE_INVALID_ARGUMENT,
                       "prepare waits, so it cannot be captured in a graph; call it before");
}

std::int32_t prepare(lathe_handle& handle, const DLTensor* const* inputs, cuda::Stream stream) {
  std::int32_t status = LATHE_OK;
  for (std::int64_t i = 0; i < handle.inputs(); ++i) handle.used[i] = 0;
  for (std::int64_t i = 0; i < handle.inputs() && status == LATHE_OK; ++i)
    if (handle.tensor(i).constant) status = take_constant(handle, i, *inputs[i], stream);
  if (status == LATHE_OK) status = launch(handle, stream, 0, handle.program->prepare);
  status = finish(handle, stream, status);
  if (inputs != nullptr) release_borrowed(handle, inputs);
  handle.prepared = status == LATHE_OK;
  return status;
}

std::int32_t prepare_without_constants(lathe_handle& handle) {
  const cuda::Api& api = handle.device.api;
  handle.prepared = handle.program->prepare == 0;
  if (handle.prepared) return LATHE_OK;
  cuda::Stream stream = nullptr;
  const cuda::Code code = api.StreamCreate(&stream, cuda::kStreamNonBlocking);
  if (code != 0) return failed(handle.device, code, "the card gives no stream", handle.message);
  const std::int32_t status = prepare(handle, nullptr, stream);
  api.StreamDestroy(stream);
  return status;
}

}  // namespace lathe::artifact
