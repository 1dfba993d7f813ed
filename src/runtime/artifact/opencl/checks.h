// What the functions of a library for a device of OpenCL check of their arguments. Each leaves a
// sentence in the handle's message and returns a status.
#pragma once

#include <cstdint>

#include "runtime/artifact/opencl/handle.h"

namespace lathe::artifact {

// A buffer of the caller's that stands for a tensor.
std::int32_t check_buffer(lathe_handle& handle, std::int64_t i, opencl::Buffer buffer);
// Refuses an output that shares memory with an input or another output.
std::int32_t check_places(lathe_handle& handle);

}  // namespace lathe::artifact
