// The program on its card: whether it fits, and its kernels.
// This file goes into artifacts, which need libc only.
#include <cstdlib>
#include <cstring>

#include "runtime/artifact/cuda/device.h"
#include "runtime/artifact/device/calls.h"

namespace lathe::artifact {
namespace {

using cuda::Code;

constexpr std::int64_t kPlainSharedBytes = 48 << 10;  // of a block, without asking for more

// What the card says of itself; 0 where it does not tell.
std::int64_t card_attribute(const CudaDevice& device, int which) {
  int value = 0;
  return device.api.DeviceGetAttribute(&value, which, device.id) == 0 ? value : 0;
}
std::int64_t function_attribute(const CudaDevice& device, cuda::Function function, int which) {
  int value = 0;
  return device.api.FuncGetAttribute(&value, which, function) == 0 ? value : 0;
}

std::int64_t architecture_of(const CudaDevice& device) {
  const std::int64_t major = card_attribute(device, cuda::kCapabilityMajor);
  return major == 0 ? 0 : 10 * major + card_attribute(device, cuda::kCapabilityMinor);
}

std::int32_t check_architecture(const CudaDevice& device, const lathe_cuda_program& program,
                                Message& message) {
  const std::int64_t own = architecture_of(device);
  if (own == 0 || own >= program.architecture) return LATHE_OK;
  char name[96] = "";
  device.api.DeviceGetName(name, sizeof name - 1, device.id);
  message.clear();
  message.add("the library is for cards of sm_").add(program.architecture);
  message.add(" and later, and ").add(name).add(" is of sm_").add(own);
  message.add("; run lathe compile for it");
  return LATHE_NO_DEVICE;
}

// False: there is none for just this card, or the driver is older than the assembler and does not
// take it.
bool load_code(CudaDevice& device, const lathe_cuda_program& program) {
  const std::int64_t own = architecture_of(device);
  for (std::int64_t c = 0; c < program.count; ++c)
    if (program.codes[c].architecture == own &&
        device.api.ModuleLoadDataEx(&device.module, program.codes[c].bytes, 0, nullptr, nullptr) ==
            0)
      return true;
  device.module = nullptr;
  return false;
}

std::int32_t load_ptx(CudaDevice& device, const char* ptx, Message& message) {
  constexpr std::size_t kLogBytes = std::size_t{8} << 10;
  auto* const log = static_cast<char*>(std::calloc(kLogBytes + 1, 1));
  if (log == nullptr) {
    message.clear();
    message.add("there is not enough memory for what the driver's assembler says");
    return LATHE_OUT_OF_MEMORY;
  }
  int options[] = {cuda::kErrorLog, cuda::kErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(kLogBytes)};
  const Code code = device.api.ModuleLoadDataEx(&device.module, ptx, 2, options, values);
  std::int32_t status = LATHE_OK;
  if (code != 0) {
    device.module = nullptr;
    status = failed(device, code, "the driver does not load the program", message);
    if (log[0] != '\0') {
      message.clear();
      message.add("the driver's assembler refuses the program: ").add(first_line(log));
      add_name(device, code, message);
    }
  }
  std::free(log);
  return status;
}

Message& unfit(Message& message) {
  message.clear();
  return message.add("the card cannot run this program: ");
}

bool check_threads(const CudaDevice& device, const lathe_launch& launch, cuda::Function function,
                   Message& message) {
  const std::int64_t card = card_attribute(device, cuda::kThreadsOfBlock);
  const std::int64_t own = function_attribute(device, function, cuda::kMostThreads);
  const std::int64_t most = own > 0 && (own < card || card == 0) ? own : card;
  if (most == 0 || items_of(launch) <= most) return true;
  unfit(message).add("a block of ").add(launch.kernel).add(" has ").add(items_of(launch));
  message.add(" threads, and with ");
  message.add(function_attribute(device, function, cuda::kRegisters));
  message.add(" registers a thread it allows ").add(most);
  return false;
}

std::int32_t ask_for_shared(const CudaDevice& device, const lathe_launch& launch,
                            cuda::Function function, Message& message) {
  const std::int64_t bytes =
      function_attribute(device, function, cuda::kSharedBytes) + launch.group_bytes;
  const std::int64_t most = card_attribute(device, cuda::kSharedOfBlockOptIn);
  if (most > 0 && bytes > most) {
    unfit(message).add(launch.kernel).add(" uses ").add(bytes);
    message.add(" bytes of shared memory, and it allows ").add(most);
    return LATHE_NO_DEVICE;
  }
  if (bytes <= kPlainSharedBytes || launch.group_bytes == 0) return LATHE_OK;
  const Code code = device.api.FuncSetAttribute(function, cuda::kMostDynamicShared,
                                                static_cast<int>(launch.group_bytes));
  if (code == 0) return LATHE_OK;
  return failed(device, code, "a kernel does not get its shared memory", message);
}

std::int32_t find_kernel(const CudaDevice& device, const lathe_launch& launch,
                         cuda::Function& function, Message& message) {
  const Code code = device.api.ModuleGetFunction(&function, device.module, launch.kernel);
  if (code != 0) return failed(device, code, "the driver does not find a kernel", message);
  if (!check_threads(device, launch, function, message)) return LATHE_NO_DEVICE;
  return ask_for_shared(device, launch, function, message);
}

}  // namespace

std::int32_t load_kernels(CudaDevice& device, const lathe_cuda_program& program,
                          cuda::Function* functions, Message& message) {
  std::int32_t status = check_architecture(device, program, message);
  if (status == LATHE_OK && !load_code(device, program))
    status = load_ptx(device, program.ptx, message);
  const lathe_device_program& launched = program.program;
  for (std::int64_t l = 0; l < launched.prepare + launched.run && status == LATHE_OK; ++l)
    status = find_kernel(device, launched.launches[l], functions[l], message);
  return status;
}

}  // namespace lathe::artifact
