// A handle of an exported library for a device of OpenCL.
#pragma once

#include <cstdint>

#include "runtime/artifact/device/handle.h"
#include "runtime/artifact/opencl/device.h"
#include "runtime/artifact/opencl_program.h"

// A handle lies in one block of memory with its arrays behind it.
struct lathe_handle : lathe::artifact::DeviceHandle {
  lathe::artifact::OpenclDevice device{};
  lathe::opencl::Kernel* kernels = nullptr;  // one a launch: those of prepare, then those of run
  // Inputs, then outputs: the handle's own buffers, null until they are needed; and those of a run.
  lathe::opencl::Buffer *own = nullptr, *used = nullptr;
  lathe::opencl::Buffer constants = nullptr, scratch = nullptr;

  // The table of the device's program is the first member of this one.
  const lathe_opencl_program& opencl() const {
    return *reinterpret_cast<const lathe_opencl_program*>(program);
  }
};
