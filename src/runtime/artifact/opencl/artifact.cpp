// The functions of an exported library for a device of OpenCL, with plain memory and no exceptions:
// this file goes into artifacts, which need libc only.
#include <cstdlib>
#include <new>

#include "runtime/artifact/check.h"
#include "runtime/artifact/device/calls.h"
#include "runtime/artifact/opencl/checks.h"
#include "runtime/artifact/opencl/handle.h"
#include "runtime/artifact/opencl_program.h"

namespace {

using lathe::artifact::address_of;
using lathe::artifact::OpenclDevice;
using lathe::artifact::refuse_create;
using lathe::artifact::was_forked;
namespace opencl = lathe::opencl;

constexpr const char* kDriver = "OpenCL";

opencl::Buffer buffer_of(const lathe_handle& handle, std::int64_t area, std::int64_t position) {
  switch (area) {
    case LATHE_AREA_INPUT: return handle.used[position];
    case LATHE_AREA_OUTPUT: return handle.used[handle.inputs() + position];
    case LATHE_AREA_CONSTANT: return handle.constants;
    default: return handle.scratch;
  }
}

// Gives some launches to a queue, which runs them in order.
std::int32_t launch(lathe_handle& handle, opencl::Queue queue, std::int64_t begin,
                    std::int64_t end) {
  const opencl::Api& api = handle.device.api;
  for (std::int64_t l = begin; l < end; ++l) {
    const lathe_launch& one = handle.program->launches[l];
    opencl::Code code = 0;
    for (std::int64_t a = 0; a < one.count && code == 0; ++a) {
      opencl::Buffer buffer = buffer_of(handle, one.arguments[2 * a], one.arguments[2 * a + 1]);
      code = api.SetKernelArg(handle.kernels[l], static_cast<opencl::Number>(a),
                              sizeof(opencl::Buffer), &buffer);
    }
    std::size_t all[3], group[3];
    for (int d = 0; d < 3; ++d) {
      group[d] = static_cast<std::size_t>(one.items[d]);
      all[d] = group[d] * static_cast<std::size_t>(one.groups[d]);
    }
    if (code == 0)
      code = api.EnqueueNDRangeKernel(queue, handle.kernels[l], 3, nullptr, all, group, 0, nullptr,
                                      nullptr);
    if (code != 0)
      return lathe::artifact::failed(code, "the device refuses a kernel", handle.message);
  }
  return LATHE_OK;
}

// Makes the handle's own buffer of a tensor, if it has none yet, the one that is used.
std::int32_t use_own(lathe_handle& handle, std::int64_t i) {
  if (handle.own[i] == nullptr) {
    const std::int32_t status = lathe::artifact::make_buffer(handle.device, handle.tensor(i).bytes,
                                                             handle.own[i], handle.message);
    if (status != LATHE_OK) return status;
  }
  handle.used[i] = handle.own[i];
  return LATHE_OK;
}

// Copies a tensor to the handle's buffer, without waiting: its memory must stay until the queue is
// done.
std::int32_t send(lathe_handle& handle, std::int64_t i, const DLTensor& tensor) {
  if (const std::int32_t status = use_own(handle, i); status != LATHE_OK) return status;
  const auto bytes = static_cast<std::size_t>(handle.tensor(i).bytes);
  if (bytes == 0) return LATHE_OK;
  const opencl::Code code = handle.device.api.EnqueueWriteBuffer(
      handle.device.queue, handle.own[i], 0, 0, bytes, address_of(tensor), 0, nullptr, nullptr);
  if (code == 0) return LATHE_OK;
  return lathe::artifact::failed(code, "an input cannot be copied to the device", handle.message);
}

// Waits for the handle's queue; the first failure counts.
std::int32_t finish(lathe_handle& handle, std::int32_t status) {
  const opencl::Code code = handle.device.api.Finish(handle.device.queue);
  if (status != LATHE_OK || code == 0) return status;
  return lathe::artifact::failed(code, "the device did not finish the program", handle.message);
}

std::int32_t prepare(lathe_handle& handle) {
  const std::int32_t status = launch(handle, handle.device.queue, 0, handle.program->prepare);
  if (const std::int32_t end = finish(handle, status); end != LATHE_OK) return end;
  // Constants that were packed are not needed as they came.
  for (std::int64_t i = 0; i < handle.inputs(); ++i) {
    if (!handle.tensor(i).constant || handle.is_read_by_run(i)) continue;
    if (handle.own[i] != nullptr) handle.device.api.ReleaseMemObject(handle.own[i]);
    handle.own[i] = nullptr;
  }
  handle.prepared = true;
  return LATHE_OK;
}

lathe_handle* allocate(const lathe_opencl_program& opencl) {
  const lathe_device_program& program = opencl.program;
  const lathe_module& module = *program.artifact.module;
  const auto tensors = static_cast<std::size_t>(module.inputs + module.outputs);
  const auto launches = static_cast<std::size_t>(program.prepare + program.run);
  void* const memory =
      std::calloc(1, sizeof(lathe_handle) + (launches + 2 * tensors) * sizeof(void*));
  if (memory == nullptr) return nullptr;
  auto* const handle = new (memory) lathe_handle;
  handle->program = &program;
  handle->kernels = reinterpret_cast<opencl::Kernel*>(handle + 1);
  handle->own = reinterpret_cast<opencl::Buffer*>(handle->kernels + launches);
  handle->used = handle->own + tensors;
  return handle;
}

// Of a device that was opened: the kernels and the areas. What depends on no input is computed.
std::int32_t complete(lathe_handle& handle) {
  const lathe_module& module = *handle.artifact().module;
  std::int32_t status = lathe::artifact::build_kernels(handle.device, handle.opencl(),
                                                       handle.kernels, handle.message);
  if (status == LATHE_OK)
    status = lathe::artifact::make_buffer(handle.device, module.constant_bytes, handle.constants,
                                          handle.message);
  if (status == LATHE_OK)
    status = lathe::artifact::make_buffer(handle.device, module.workspace_bytes, handle.scratch,
                                          handle.message);
  if (status == LATHE_OK && !handle.has_constants()) status = prepare(handle);
  return status;
}

std::int32_t create(const lathe_artifact* artifact, bool on_callers, void* context, void* queue,
                    lathe_handle** handle) {
  if (const std::int32_t begun = lathe::artifact::begin_create(kDriver, handle); begun != LATHE_OK)
    return begun;
  if (on_callers && queue == nullptr)
    return refuse_create(LATHE_INVALID_ARGUMENT, "there is no queue");
  // The table of the artifact is the first member of the program's.
  lathe_handle* const made = allocate(*reinterpret_cast<const lathe_opencl_program*>(artifact));
  if (made == nullptr)
    return refuse_create(LATHE_OUT_OF_MEMORY, "there is not enough memory for the handle");
  OpenclDevice& device = made->device;
  std::int32_t status = lathe::artifact::open_library(device, made->message);
  if (status == LATHE_OK)
    status = on_callers ? lathe::artifact::adopt_device(device, context, queue, made->message)
                        : lathe::artifact::open_device(device, made->message);
  if (status == LATHE_OK) status = complete(*made);
  if (status == LATHE_OK) {
    *handle = made;
    return LATHE_OK;
  }
  lathe::artifact::create_message() = made->message;
  lathe_artifact_destroy(made);
  return status;
}

std::int32_t start(lathe_handle& handle, const DLTensor* const* inputs) {
  std::int32_t status = LATHE_OK;
  for (std::int64_t i = 0; i < handle.count() && status == LATHE_OK; ++i) {
    if (handle.tensor(i).constant) handle.used[i] = handle.own[i];
    else status = i < handle.inputs() ? send(handle, i, *inputs[i]) : use_own(handle, i);
  }
  const lathe_device_program& program = *handle.program;
  if (status == LATHE_OK)
    status = launch(handle, handle.device.queue, program.prepare, program.prepare + program.run);
  return status;
}

std::int32_t fetch(lathe_handle& handle, DLTensor* const* outputs) {
  for (std::int64_t i = handle.inputs(); i < handle.count(); ++i) {
    const auto bytes = static_cast<std::size_t>(handle.tensor(i).bytes);
    if (bytes == 0) continue;
    const opencl::Code code = handle.device.api.EnqueueReadBuffer(
        handle.device.queue, handle.own[i], 0, 0, bytes, address_of(*outputs[i - handle.inputs()]),
        0, nullptr, nullptr);
    if (code != 0)
      return lathe::artifact::failed(code, "an output cannot be copied from the device",
                                     handle.message);
  }
  return LATHE_OK;
}

}  // namespace

std::int32_t lathe_artifact_create(const lathe_artifact* artifact, const lathe_parallel*,
                                   lathe_handle** handle) {
  return create(artifact, false, nullptr, nullptr, handle);
}

std::int32_t lathe_artifact_opencl_create_on(const lathe_artifact* artifact, void* context,
                                             void* queue, lathe_handle** handle) {
  return create(artifact, true, context, queue, handle);
}

std::int32_t lathe_artifact_prepare(lathe_handle* handle, const DLTensor* const* inputs) {
  if (handle == nullptr) return LATHE_INVALID_ARGUMENT;
  if (const std::int32_t forked = lathe::artifact::check_process(kDriver, *handle);
      forked != LATHE_OK)
    return forked;
  if (!handle->has_constants()) return LATHE_OK;
  handle->prepared = false;
  if (inputs == nullptr) return handle->refuse(LATHE_INVALID_ARGUMENT, "there are no inputs");
  for (std::int64_t i = 0; i < handle->inputs(); ++i)
    if (handle->tensor(i).constant &&
        !lathe::artifact::check_tensor(handle->tensor(i), inputs[i], handle->message))
      return LATHE_INVALID_ARGUMENT;
  std::int32_t status = LATHE_OK;
  for (std::int64_t i = 0; i < handle->inputs() && status == LATHE_OK; ++i)
    if (handle->tensor(i).constant) status = send(*handle, i, *inputs[i]);
  return status == LATHE_OK ? prepare(*handle) : finish(*handle, status);
}

std::int32_t lathe_artifact_run(lathe_handle* handle, const DLTensor* const* inputs,
                                DLTensor* const* outputs) {
  if (handle == nullptr) return LATHE_INVALID_ARGUMENT;
  std::int32_t status =
      lathe::artifact::check_run(kDriver, *handle, inputs != nullptr, outputs != nullptr);
  // Inputs are copied before an output is written; but no library of a processor takes tensors that
  // overlap.
  if (status == LATHE_OK)
    status =
        lathe::artifact::check_tensors(*handle, inputs, outputs, lathe::artifact::kInProcessor);
  if (status != LATHE_OK) return status;
  status = start(*handle, inputs);
  if (status == LATHE_OK) status = fetch(*handle, outputs);
  return finish(*handle, status);
}

std::int32_t lathe_artifact_opencl_run_on(lathe_handle* handle, void* const* inputs,
                                          void* const* outputs, void* queue) {
  if (handle == nullptr) return LATHE_INVALID_ARGUMENT;
  std::int32_t status =
      lathe::artifact::check_run(kDriver, *handle, inputs != nullptr, outputs != nullptr);
  auto* const given = queue != nullptr ? static_cast<opencl::Queue>(queue) : handle->device.queue;
  if (status == LATHE_OK)
    status = lathe::artifact::check_queue(handle->device, given, handle->message);
  for (std::int64_t i = 0; i < handle->count() && status == LATHE_OK; ++i) {
    if (handle->tensor(i).constant) {
      handle->used[i] = handle->own[i];
      continue;
    }
    void* const buffer = i < handle->inputs() ? inputs[i] : outputs[i - handle->inputs()];
    handle->used[i] = static_cast<opencl::Buffer>(buffer);
    status = lathe::artifact::check_buffer(*handle, i, handle->used[i]);
  }
  if (status == LATHE_OK) status = lathe::artifact::check_places(*handle);
  if (status != LATHE_OK) return status;
  const lathe_device_program& program = *handle->program;
  return launch(*handle, given, program.prepare, program.prepare + program.run);
}

namespace {

void release_device(lathe_handle* handle) {
  const opencl::Api& api = handle->device.api;
  for (std::int64_t l = 0; l < handle->launches(); ++l)
    if (handle->kernels[l] != nullptr) api.ReleaseKernel(handle->kernels[l]);
  for (std::int64_t i = 0; i < handle->count(); ++i)
    if (handle->own[i] != nullptr) api.ReleaseMemObject(handle->own[i]);
  if (handle->constants != nullptr) api.ReleaseMemObject(handle->constants);
  if (handle->scratch != nullptr) api.ReleaseMemObject(handle->scratch);
  lathe::artifact::release(handle->device);
}

}  // namespace

void lathe_artifact_destroy(lathe_handle* handle) {
  if (handle == nullptr) return;
  if (!was_forked()) release_device(handle);
  handle->~lathe_handle();
  std::free(handle);
}

const char* lathe_artifact_message(const lathe_handle* handle) {
  return handle != nullptr ? handle->message.text() : lathe::artifact::create_message().text();
}
