// The functions of an exported library for a card of NVIDIA, with plain memory and no exceptions:
// this file goes into artifacts, which need libc only.
#include <cstdlib>
#include <new>

#include "runtime/artifact/check.h"
#include "runtime/artifact/cuda/handle.h"
#include "runtime/artifact/cuda_program.h"
#include "runtime/artifact/device/calls.h"

namespace {

using lathe::artifact::address_of;
using lathe::artifact::CudaDevice;
using lathe::artifact::Current;
using lathe::artifact::Message;
using lathe::artifact::Place;
namespace cuda = lathe::cuda;

constexpr const char* kCuda = "CUDA";

// Every tensor begins at a multiple of so many bytes: kernels load and store as many at once.
constexpr std::int64_t kTensorAlignment = 16;

Place place_of(const lathe_handle& handle) {
  return {{kDLCUDA, handle.device.id}, kTensorAlignment};
}

cuda::Address card_address_of(const DLTensor& tensor) {
  return static_cast<cuda::Address>(reinterpret_cast<std::uintptr_t>(address_of(tensor)));
}

cuda::Address argument_of(const lathe_handle& handle, std::int64_t area, std::int64_t position) {
  switch (area) {
    case LATHE_AREA_INPUT: return handle.used[position];
    case LATHE_AREA_OUTPUT: return handle.used[handle.inputs() + position];
    case LATHE_AREA_CONSTANT: return handle.constants;
    default: return handle.scratch;
  }
}

// Gives some launches to a stream, which runs them in order.
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
      return lathe::artifact::failed(handle.device, code, "the card does not take a kernel",
                                     handle.message);
  }
  return LATHE_OK;
}

// Whether memory that a caller calls the card's is: a kernel that writes to other memory would
// break its context, and with it all that the caller has there.
std::int32_t check_address(lathe_handle& handle, std::int64_t i, cuda::Address address) {
  if (handle.tensor(i).bytes == 0) return LATHE_OK;
  int card = -1;
  const cuda::Code code =
      handle.device.api.PointerGetAttribute(&card, cuda::kPointerDevice, address);
  if (code == cuda::kInvalidValue)
    return handle.refuse_tensor(i, "is said to be on a card, and its memory is not");
  if (code != 0)
    return lathe::artifact::failed(handle.device, code, "the driver does not tell whose memory is",
                                   handle.message);
  if (card == handle.device.id) return LATHE_OK;
  handle.refuse_tensor(i, "has its memory on card ");
  handle.message.add(card).add(", and the handle is of card ").add(handle.device.id);
  return LATHE_INVALID_ARGUMENT;
}

std::int32_t finish(lathe_handle& handle, cuda::Stream stream, std::int32_t status) {
  const cuda::Code code = handle.device.api.StreamSynchronize(stream);
  if (status != LATHE_OK || code == 0) return status;
  return lathe::artifact::failed(handle.device, code, "the card did not finish the constants",
                                 handle.message);
}

void release(const CudaDevice& device, cuda::Address& address) {
  if (address != 0) device.api.MemFree(address);
  address = 0;
}

// Copies a constant to a place on the card, in the stream's order.
std::int32_t copy(lathe_handle& handle, std::int64_t i, const DLTensor& from, cuda::Address to,
                  cuda::Stream stream) {
  const auto bytes = static_cast<std::size_t>(handle.tensor(i).bytes);
  const cuda::Code code =
      lathe::artifact::is_of_processor(from.device)
          ? handle.device.api.MemcpyHtoDAsync(to, address_of(from), bytes, stream)
          : handle.device.api.MemcpyDtoDAsync(to, card_address_of(from), bytes, stream);
  if (code == 0) return LATHE_OK;
  return lathe::artifact::failed(handle.device, code, "a constant cannot be copied on the card",
                                 handle.message);
}

// What prepare() needs of the memory that a constant is given in; freed by release_borrowed().
std::int32_t take_constant(lathe_handle& handle, std::int64_t i, const DLTensor& given,
                           cuda::Stream stream) {
  handle.used[i] = handle.own[i];
  if (handle.tensor(i).bytes == 0) return LATHE_OK;
  if (handle.own[i] == 0 && !lathe::artifact::is_of_processor(given.device)) {
    handle.used[i] = card_address_of(given);
    return LATHE_OK;
  }
  if (handle.own[i] == 0) {
    const std::int32_t status = lathe::artifact::allocate(handle.device, handle.tensor(i).bytes,
                                                          handle.used[i], handle.message);
    if (status != LATHE_OK) return status;
  }
  return copy(handle, i, given, handle.used[i], stream);
}

// Copies of constants in the processor's memory that only prepare() read.
void release_borrowed(lathe_handle& handle, const DLTensor* const* inputs) {
  for (std::int64_t i = 0; i < handle.inputs(); ++i) {
    if (!handle.tensor(i).constant || handle.own[i] != 0) continue;
    if (lathe::artifact::is_of_processor(inputs[i]->device)) release(handle.device, handle.used[i]);
    handle.used[i] = 0;
  }
}

std::int32_t check_constants(lathe_handle& handle, const DLTensor* const* inputs) {
  if (inputs == nullptr) return handle.refuse(LATHE_INVALID_ARGUMENT, "there are no inputs");
  for (std::int64_t i = 0; i < handle.inputs(); ++i) {
    if (!handle.tensor(i).constant) continue;
    const bool here = inputs[i] != nullptr && lathe::artifact::is_of_processor(inputs[i]->device);
    const Place place = here ? lathe::artifact::kInProcessor : place_of(handle);
    if (!lathe::artifact::check_tensor(handle.tensor(i), inputs[i], handle.message, place))
      return LATHE_INVALID_ARGUMENT;
    if (here) continue;
    const std::int32_t status = check_address(handle, i, card_address_of(*inputs[i]));
    if (status != LATHE_OK) return status;
  }
  return LATHE_OK;
}

// prepare() waits, which a stream that is captured cannot.
std::int32_t check_capture(lathe_handle& handle, cuda::Stream stream) {
  int capturing = 0;
  const cuda::Code code = handle.device.api.StreamIsCapturing(stream, &capturing);
  if (code != 0)
    return lathe::artifact::failed(handle.device, code,
                                   "the driver does not tell whether the stream is captured",
                                   handle.message);
  if (capturing == 0) return LATHE_OK;
  return handle.refuse(LATHE_INVALID_ARGUMENT,
                       "prepare waits, so it cannot be captured in a graph; call it before");
}

// The constants were checked; where there are none, what depends on no input is computed.
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
  if (code != 0)
    return lathe::artifact::failed(handle.device, code, "the card gives no stream", handle.message);
  const std::int32_t status = prepare(handle, nullptr, stream);
  api.StreamDestroy(stream);
  return status;
}

std::int32_t allocate_areas(lathe_handle& handle) {
  const lathe_module& module = *handle.artifact().module;
  std::int32_t status = lathe::artifact::allocate(handle.device, module.constant_bytes,
                                                  handle.constants, handle.message);
  if (status == LATHE_OK)
    status = lathe::artifact::allocate(handle.device, module.workspace_bytes, handle.scratch,
                                       handle.message);
  for (std::int64_t i = 0; i < handle.inputs() && status == LATHE_OK; ++i)
    if (handle.tensor(i).constant && handle.is_read_by_run(i))
      status = lathe::artifact::allocate(handle.device, handle.tensor(i).bytes, handle.own[i],
                                         handle.message);
  return status;
}

std::size_t most_arguments(const lathe_device_program& program) {
  std::int64_t most = 0;
  for (std::int64_t l = 0; l < program.prepare + program.run; ++l)
    if (program.launches[l].count > most) most = program.launches[l].count;
  return static_cast<std::size_t>(most);
}

lathe_handle* allocate_handle(const lathe_device_program& program) {
  const lathe_module& module = *program.artifact.module;
  const auto tensors = static_cast<std::size_t>(module.inputs + module.outputs);
  const auto launches = static_cast<std::size_t>(program.prepare + program.run);
  const std::size_t arguments = most_arguments(program);
  void* const memory = std::calloc(1, sizeof(lathe_handle) + launches * sizeof(cuda::Function) +
                                          (2 * tensors + arguments) * sizeof(cuda::Address) +
                                          arguments * sizeof(void*));
  if (memory == nullptr) return nullptr;
  auto* const handle = new (memory) lathe_handle;
  handle->program = &program;
  handle->functions = reinterpret_cast<cuda::Function*>(handle + 1);
  handle->own = reinterpret_cast<cuda::Address*>(handle->functions + launches);
  handle->used = handle->own + tensors;
  handle->arguments = handle->used + tensors;
  handle->parameters = reinterpret_cast<void**>(handle->arguments + arguments);
  for (std::size_t a = 0; a < arguments; ++a) handle->parameters[a] = &handle->arguments[a];
  return handle;
}

// Of a context that was found: the kernels and the areas. What depends on no input is computed.
std::int32_t complete(lathe_handle& handle) {
  const Current current(handle.device, handle.message);
  std::int32_t status = current.status();
  if (status == LATHE_OK)
    status = lathe::artifact::load_kernels(handle.device, handle.cuda(), handle.functions,
                                           handle.message);
  if (status == LATHE_OK) status = allocate_areas(handle);
  if (status == LATHE_OK && !handle.has_constants()) status = prepare_without_constants(handle);
  return status;
}

void release_device(lathe_handle& handle) {
  CudaDevice& device = handle.device;
  Message ignored;
  if (const Current current(device, ignored); current.status() == LATHE_OK) {
    device.api.CtxSynchronize();
    release(device, handle.constants);
    release(device, handle.scratch);
    for (std::int64_t i = 0; i < handle.inputs(); ++i) release(device, handle.own[i]);
    if (device.module != nullptr) device.api.ModuleUnload(device.module);
  }
  if (device.keeps_primary) device.api.DevicePrimaryCtxRelease(device.id);
}

}  // namespace

std::int32_t lathe_artifact_create(const lathe_artifact* artifact, const lathe_parallel*,
                                   lathe_handle** handle) {
  if (const std::int32_t begun = lathe::artifact::begin_create(kCuda, handle); begun != LATHE_OK)
    return begun;
  // The table of the artifact is the first member of the program's.
  lathe_handle* const made =
      allocate_handle(*reinterpret_cast<const lathe_device_program*>(artifact));
  if (made == nullptr)
    return lathe::artifact::refuse_create(LATHE_OUT_OF_MEMORY,
                                          "there is not enough memory for the handle");
  std::int32_t status = lathe::artifact::open_driver(made->device, made->message);
  if (status == LATHE_OK) status = lathe::artifact::find_context(made->device, made->message);
  if (status == LATHE_OK) status = complete(*made);
  if (status == LATHE_OK) {
    *handle = made;
    return LATHE_OK;
  }
  lathe::artifact::create_message() = made->message;
  lathe_artifact_destroy(made);
  return status;
}

std::int32_t lathe_artifact_cuda_prepare(lathe_handle* handle, const DLTensor* const* inputs,
                                         void* stream) {
  if (handle == nullptr) return LATHE_INVALID_ARGUMENT;
  if (const std::int32_t forked = lathe::artifact::check_process(kCuda, *handle);
      forked != LATHE_OK)
    return forked;
  if (!handle->has_constants()) return LATHE_OK;
  handle->prepared = false;
  const Current current(handle->device, handle->message);
  std::int32_t status = current.status();
  auto* const given = static_cast<cuda::Stream>(stream);
  if (status == LATHE_OK) status = check_constants(*handle, inputs);
  if (status == LATHE_OK)
    status = lathe::artifact::check_stream(handle->device, given, handle->message);
  if (status == LATHE_OK) status = check_capture(*handle, given);
  return status == LATHE_OK ? prepare(*handle, inputs, given) : status;
}

std::int32_t lathe_artifact_cuda_run(lathe_handle* handle, const DLTensor* const* inputs,
                                     DLTensor* const* outputs, void* stream) {
  if (handle == nullptr) return LATHE_INVALID_ARGUMENT;
  std::int32_t status =
      lathe::artifact::check_run(kCuda, *handle, inputs != nullptr, outputs != nullptr);
  if (status == LATHE_OK)
    status = lathe::artifact::check_tensors(*handle, inputs, outputs, place_of(*handle));
  if (status != LATHE_OK) return status;
  const Current current(handle->device, handle->message);
  status = current.status();
  auto* const given = static_cast<cuda::Stream>(stream);
  if (status == LATHE_OK)
    status = lathe::artifact::check_stream(handle->device, given, handle->message);
  for (std::int64_t i = 0; i < handle->count() && status == LATHE_OK; ++i) {
    handle->used[i] = handle->own[i];
    if (handle->tensor(i).constant) continue;
    handle->used[i] =
        card_address_of(i < handle->inputs() ? *inputs[i] : *outputs[i - handle->inputs()]);
    status = check_address(*handle, i, handle->used[i]);
  }
  const lathe_device_program& program = *handle->program;
  return status == LATHE_OK ? launch(*handle, given, program.prepare, program.prepare + program.run)
                            : status;
}

void lathe_artifact_destroy(lathe_handle* handle) {
  if (handle == nullptr) return;
  if (!lathe::artifact::was_forked() && handle->device.context != nullptr) release_device(*handle);
  handle->~lathe_handle();
  std::free(handle);
}

const char* lathe_artifact_message(const lathe_handle* handle) {
  return handle != nullptr ? handle->message.text() : lathe::artifact::create_message().text();
}
