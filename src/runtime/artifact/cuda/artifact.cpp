// The functions of an exported library for a card of NVIDIA, with plain memory and no exceptions:
// this file goes into artifacts, which need libc only.
#include <cstdlib>
#include <new>

#include "runtime/artifact/cuda/launch.h"
#include "runtime/artifact/cuda/prepare.h"
#include "runtime/artifact/cuda_program.h"
#include "runtime/artifact/device/calls.h"

namespace {

using lathe::artifact::card_address_of;
using lathe::artifact::CudaDevice;
using lathe::artifact::Current;
using lathe::artifact::Message;
using lathe::artifact::release;
namespace cuda = lathe::cuda;

constexpr const char* kCuda = "CUDA";

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
  if (status == LATHE_OK && !handle.has_constants())
    status = lathe::artifact::prepare_without_constants(handle);
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
  if (status == LATHE_OK) status = lathe::artifact::check_constants(*handle, inputs);
  if (status == LATHE_OK)
    status = lathe::artifact::check_stream(handle->device, given, handle->message);
  if (status == LATHE_OK) status = lathe::artifact::check_capture(*handle, given);
  return status == LATHE_OK ? lathe::artifact::prepare(*handle, inputs, given) : status;
}

std::int32_t lathe_artifact_cuda_run(lathe_handle* handle, const DLTensor* const* inputs,
                                     DLTensor* const* outputs, void* stream) {
  if (handle == nullptr) return LATHE_INVALID_ARGUMENT;
  std::int32_t status =
      lathe::artifact::check_run(kCuda, *handle, inputs != nullptr, outputs != nullptr);
  if (status == LATHE_OK)
    status = lathe::artifact::check_tensors(*handle, inputs, outputs,
                                            lathe::artifact::place_of(*handle));
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
    status = lathe::artifact::check_address(*handle, i, handle->used[i]);
  }
  const lathe_device_program& program = *handle->program;
  return status == LATHE_OK ? lathe::artifact::launch(*handle, given, program.prepare,
                                                      program.prepare + program.run)
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
