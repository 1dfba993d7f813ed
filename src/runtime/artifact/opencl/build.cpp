// The program on its device: whether it fits, its kernels, and what the compiler says.
#include <cstdlib>
#include <cstring>

#include "runtime/artifact/device/calls.h"
#include "runtime/artifact/opencl/device.h"

namespace lathe::artifact {
namespace {

using opencl::Code;

// What the device allows.
struct Limits {
  std::size_t group = 0, items[3] = {};
  std::uint64_t local_bytes = 0, buffer_bytes = 0;
};

// Starts a message of why the device cannot run the program.
Message& unfit(Message& message) {
  message.clear();
  return message.add("the device cannot run this program: ");
}

Limits limits_of(const OpenclDevice& device) {
  Limits limits;
  const auto ask = [&](opencl::Number what, auto& value) {
    device.api.GetDeviceInfo(device.id, what, sizeof value, &value, nullptr);
  };
  ask(opencl::kMaxGroupSize, limits.group);
  ask(opencl::kItemSizes, limits.items);
  ask(opencl::kLocalBytes, limits.local_bytes);
  ask(opencl::kMaxAllocation, limits.buffer_bytes);
  return limits;
}

bool check_launch(const lathe_launch& launch, const Limits& limits, Message& message) {
  if (static_cast<std::uint64_t>(items_of(launch)) > limits.group) {
    unfit(message).add("a group of ").add(launch.kernel).add(" has ").add(items_of(launch));
    message.add(" work items, and it allows ").add(static_cast<std::int64_t>(limits.group));
    return false;
  }
  for (int d = 0; d < 3; ++d)
    if (static_cast<std::uint64_t>(launch.items[d]) > limits.items[d]) {
      unfit(message).add("a group of ").add(launch.kernel).add(" has ").add(launch.items[d]);
      message.add(" work items in dimension ").add(d).add(", and it allows ");
      message.add(static_cast<std::int64_t>(limits.items[d]));
      return false;
    }
  return true;
}

bool check_buffer(std::int64_t bytes, const Limits& limits, Message& message) {
  if (static_cast<std::uint64_t>(bytes) <= limits.buffer_bytes) return true;
  unfit(message).add("a buffer has ").add(bytes).add(" bytes, and it allows ");
  message.add(static_cast<std::int64_t>(limits.buffer_bytes));
  return false;
}

bool check_limits(const lathe_opencl_program& opencl, const Limits& limits, Message& message) {
  if (static_cast<std::uint64_t>(opencl.local_bytes) > limits.local_bytes) {
    unfit(message).add("it needs ").add(opencl.local_bytes).add(" bytes of local memory, and ");
    message.add(static_cast<std::int64_t>(limits.local_bytes)).add(" are there");
    return false;
  }
  const lathe_device_program& program = opencl.program;
  for (std::int64_t l = 0; l < program.prepare + program.run; ++l)
    if (!check_launch(program.launches[l], limits, message)) return false;
  const lathe_module& module = *program.artifact.module;
  for (std::int64_t t = 0; t < module.inputs + module.outputs; ++t)
    if (!check_buffer(program.artifact.tensors[t].bytes, limits, message)) return false;
  return check_buffer(module.constant_bytes, limits, message) &&
         check_buffer(module.workspace_bytes, limits, message);
}

// Whether a text of names with spaces between them has this one.
bool has_word(const char* text, const char* word) {
  const std::size_t length = std::strlen(word);
  for (const char* at = text; (at = std::strstr(at, word)) != nullptr; at += length) {
    const char behind = at[length];
    if ((at == text || at[-1] == ' ') && (behind == ' ' || behind == '\0')) return true;
  }
  return false;
}

bool check_extensions(const OpenclDevice& device, const lathe_opencl_program& program,
                      Message& message) {
  if (program.extensions[0] == nullptr) return true;
  std::size_t size = 0;
  const opencl::Number what = opencl::kExtensions;
  device.api.GetDeviceInfo(device.id, what, 0, nullptr, &size);
  auto* const text = static_cast<char*>(std::calloc(size + 1, 1));
  if (text != nullptr) device.api.GetDeviceInfo(device.id, what, size, text, nullptr);
  const char* const* missing = program.extensions;
  while (*missing != nullptr && text != nullptr && has_word(text, *missing)) ++missing;
  std::free(text);
  if (*missing == nullptr) return true;
  unfit(message).add("it lacks the extension ").add(*missing);
  return false;
}

std::int32_t refuse_build(const OpenclDevice& device, opencl::Built built, Message& message) {
  std::size_t size = 0;
  const opencl::Number what = opencl::kBuildLog;
  device.api.GetProgramBuildInfo(built, device.id, what, 0, nullptr, &size);
  auto* const log = static_cast<char*>(std::calloc(size + 1, 1));
  if (log != nullptr) device.api.GetProgramBuildInfo(built, device.id, what, size, log, nullptr);
  message.clear();
  message.add("OpenCL's compiler refuses the program: ");
  message.add(log != nullptr ? first_line(log) : "there is no memory for what it said");
  std::free(log);
  return LATHE_DEVICE_FAILED;
}

// As the program was compiled, its registers and local memory may be more than the device has.
bool check_kernel(const OpenclDevice& device, const lathe_launch& launch, opencl::Kernel kernel,
                  const Limits& limits, Message& message) {
  std::size_t group = 0;
  std::uint64_t local_bytes = 0;
  device.api.GetKernelWorkGroupInfo(kernel, device.id, opencl::kKernelGroupSize, sizeof group,
                                    &group, nullptr);
  device.api.GetKernelWorkGroupInfo(kernel, device.id, opencl::kKernelLocalBytes,
                                    sizeof local_bytes, &local_bytes, nullptr);
  if (group > 0 && static_cast<std::uint64_t>(items_of(launch)) > group) {
    unfit(message).add("a group of ").add(launch.kernel).add(" has ").add(items_of(launch));
    message.add(" work items, and as it was compiled it allows ");
    message.add(static_cast<std::int64_t>(group));
    return false;
  }
  if (local_bytes > limits.local_bytes) {
    unfit(message).add(launch.kernel).add(" uses ").add(static_cast<std::int64_t>(local_bytes));
    message.add(" bytes of local memory, and ");
    message.add(static_cast<std::int64_t>(limits.local_bytes)).add(" are there");
    return false;
  }
  return true;
}

std::int32_t make_kernels(const OpenclDevice& device, opencl::Built built,
                          const lathe_device_program& program, const Limits& limits,
                          opencl::Kernel* kernels, Message& message) {
  for (std::int64_t l = 0; l < program.prepare + program.run; ++l) {
    const lathe_launch& launch = program.launches[l];
    Code code = 0;
    kernels[l] = device.api.CreateKernel(built, launch.kernel, &code);
    if (code != 0) {
      kernels[l] = nullptr;
      return failed(code, "the device does not take a kernel of the program", message);
    }
    if (!check_kernel(device, launch, kernels[l], limits, message)) return LATHE_NO_DEVICE;
  }
  return LATHE_OK;
}

}  // namespace

std::int32_t build_kernels(const OpenclDevice& device, const lathe_opencl_program& program,
                           opencl::Kernel* kernels, Message& message) {
  const Limits limits = limits_of(device);
  if (!check_extensions(device, program, message) || !check_limits(program, limits, message))
    return LATHE_NO_DEVICE;
  Code code = 0;
  const char* text = program.source;
  const opencl::Built built =
      device.api.CreateProgramWithSource(device.context, 1, &text, nullptr, &code);
  if (code != 0) return failed(code, "the device does not take the program", message);
  code = device.api.BuildProgram(built, 1, &device.id, program.options, nullptr, nullptr);
  const std::int32_t status =
      code == 0 ? make_kernels(device, built, program.program, limits, kernels, message)
                : refuse_build(device, built, message);
  device.api.ReleaseProgram(built);  // its kernels keep it
  return status;
}

}  // namespace lathe::artifact
