// A handle of an exported library for a card of NVIDIA.
#pragma once

#include <cstdint>

#include "runtime/artifact/cuda/device.h"
#include "runtime/artifact/cuda_program.h"
#include "runtime/artifact/device/handle.h"

// A handle lies in one block of memory with its arrays behind it.
struct lathe_handle : lathe::artifact::DeviceHandle {
  lathe::artifact::CudaDevice device{};
  lathe::cuda::Function* functions = nullptr;  // one a launch: those of prepare, then those of run
  // Inputs, then outputs: the handle's own copies of constants that run() reads, 0 for all others;
  // and where tensors are in a call.
  lathe::cuda::Address *own = nullptr, *used = nullptr;
  // The arguments of a launch, and pointers to them, as launching wants them.
  lathe::cuda::Address* arguments = nullptr;
  void** parameters = nullptr;
  lathe::cuda::Address constants = 0, scratch = 0;

  // The table of the device's program is the first member of this one.
  const lathe_cuda_program& cuda() const {
    return *reinterpret_cast<const lathe_cuda_program*>(program);
  }
};
