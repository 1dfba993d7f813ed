// A device of OpenCL as an exported library uses it, and its program built there. Functions that
// return a status other than LATHE_OK have left a message.
#pragma once

#include <cstdint>

#include "runtime/artifact/message.h"
#include "runtime/artifact/opencl_program.h"
#include "runtime/device/opencl/functions.h"

namespace lathe::artifact {

struct OpenclDevice {
  opencl::Api api;
  opencl::DeviceId id;
  opencl::Context context;
  opencl::Queue queue;
};

// Opens the library, which then stays: drivers do not survive being closed.
std::int32_t open_library(OpenclDevice& device, Message& message);
// A device of this machine with a context and a queue: the one that $LATHE_OPENCL_DEVICE names, a
// part of the name of its platform, vendor or device; else a GPU before an accelerator before a
// processor, and the first of its kind.
std::int32_t open_device(OpenclDevice& device, Message& message);
// The device of the caller's queue, which it keeps with its context until release().
std::int32_t adopt_device(OpenclDevice& device, void* context, void* queue, Message& message);
// Fails where the queue is of another device or context, or works out of order.
std::int32_t check_queue(const OpenclDevice& device, opencl::Queue queue, Message& message);
void release(OpenclDevice& device);

// Builds the program for the device and makes a kernel for each launch. Those that were made when
// it fails are the caller's to release.
std::int32_t build_kernels(const OpenclDevice& device, const lathe_opencl_program& program,
                           opencl::Kernel* kernels, Message& message);
std::int32_t make_buffer(const OpenclDevice& device, std::int64_t bytes, opencl::Buffer& buffer,
                         Message& message);

// What to return for a code of OpenCL that is not 0; the message says what could not be done.
std::int32_t failed(opencl::Code code, const char* what, Message& message);

}  // namespace lathe::artifact
