// A handle of an exported library for a device of OpenCL.
#pragma once

#include <cstdint>

#include "runtime/artifact/opencl/device.h"
#include "runtime/artifact/opencl_program.h"

// A handle lies in one block of memory with its arrays behind it.
struct lathe_handle {
  const lathe_opencl_program* program = nullptr;
  lathe::artifact::OpenclDevice device{};
  lathe::opencl::Kernel* kernels = nullptr;  // one a launch: those of prepare, then those of run
  // Inputs, then outputs: the handle's own buffers, null until they are needed; and those of a run.
  lathe::opencl::Buffer *own = nullptr, *used = nullptr;
  lathe::opencl::Buffer constants = nullptr, scratch = nullptr;
  bool prepared = false;
  lathe::artifact::Message message;

  const lathe_artifact& artifact() const { return program->artifact; }
  const lathe_artifact_tensor& tensor(std::int64_t i) const { return artifact().tensors[i]; }
  std::int64_t inputs() const { return artifact().module->inputs; }
  std::int64_t count() const { return artifact().module->inputs + artifact().module->outputs; }
  bool has_constants() const {
    for (std::int64_t i = 0; i < inputs(); ++i)
      if (tensor(i).constant) return true;
    return false;
  }
  std::int32_t refuse(std::int32_t status, const char* why) {
    message.clear();
    message.add(why);
    return status;
  }
};
