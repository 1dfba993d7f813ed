// A double of NVIDIA's driver for tests: the functions that Lathe calls, on memory of the host,
// with kernels that are interpreted (ptx.h). It runs each launch at once, checks every access, and
// fails as it is told (options.h). Of times it knows those of the host.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/fake_cuda/calls.h"
#include "support/fake_cuda/options.h"
#include "support/fake_cuda/ptx.h"

namespace lathe::fake_cuda {
namespace {

constexpr std::string_view kCodeMark = "fake machine code\n";

struct Loaded {
  std::shared_ptr<Text> text;
  std::map<std::string, struct LoadedKernel> kernels;
};
struct LoadedKernel {
  const Text* text;
  const Kernel* kernel;
  const FakeContext* context;  // that it was loaded in
  int dynamic_shared = 48 << 10;
};
struct Launch {
  LoadedKernel* kernel;
  Grid grid;
  std::vector<std::uint64_t> arguments;
};
struct FakeStream {
  const FakeContext* context = current_context();
  bool captures = false;
  std::vector<Launch> captured;
};
struct FakeLink {
  std::string text, code, *unused = nullptr;
  char* log = nullptr;
  std::size_t log_bytes = 0;
};
struct FakeEvent {
  std::chrono::steady_clock::time_point time;
};

struct Block {
  std::size_t bytes;
  int card;
};
std::map<std::uint64_t, Block> g_allocated;  // by address
std::size_t g_bytes = 0;
int g_poison = 0;
int g_captures = 0;  // streams that are captured

// Null for the default streams, which have numbers.
FakeStream* stream_at(void* handle) {
  constexpr std::uintptr_t kLastNumber = 2;
  return reinterpret_cast<std::uintptr_t>(handle) <= kLastNumber ? nullptr
                                                                 : opaque<FakeStream>(handle);
}
bool is_captured(void* handle) {
  const FakeStream* const stream = stream_at(handle);
  return stream != nullptr && stream->captures;
}

bool is_allocated(std::uint64_t address, std::size_t bytes) {
  auto found = g_allocated.upper_bound(address);
  if (found == g_allocated.begin()) return false;
  --found;
  return address + bytes <= found->first + found->second.bytes;
}

std::byte* memory_at(std::uint64_t address, std::int64_t bytes) {
  thread_local std::uint64_t begin = 1, end = 0;
  const auto size = static_cast<std::uint64_t>(bytes);
  if (address < begin || address + size > end) {
    if (!is_allocated(address, static_cast<std::size_t>(bytes))) return nullptr;
    const auto found = --g_allocated.upper_bound(address);
    begin = found->first;
    end = found->first + found->second.bytes;
  }
  return reinterpret_cast<std::byte*>(address);
}

int run(const Launch& launch) {
  if (g_poison != 0) return g_poison;
  if (!count_kernel()) return g_poison = kUnavailable;
  try {
    run_kernel(*launch.kernel->text, *launch.kernel->kernel, launch.grid, launch.arguments,
               memory_at, options().most);
  } catch (const Fault& fault) {
    if (std::getenv("LATHE_FAKE_CUDA_TELLS") != nullptr)
      std::fprintf(stderr, "fake driver: %s: %s\n", launch.kernel->kernel->name.c_str(),
                   fault.what.c_str());
    g_poison = fault.code;
  }
  return g_poison;
}

std::string code_text(const void* image) {
  const char* const bytes = static_cast<const char*>(image);
  if (std::strncmp(bytes, kCodeMark.data(), kCodeMark.size()) == 0) return bytes + kCodeMark.size();
  return bytes;
}

constexpr std::pair<int, const char*> kNames[] = {{0, "CUDA_SUCCESS"},
                                                  {1, "CUDA_ERROR_INVALID_VALUE"},
                                                  {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                  {3, "CUDA_ERROR_NOT_INITIALIZED"},
                                                  {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                                                  {100, "CUDA_ERROR_NO_DEVICE"},
                                                  {101, "CUDA_ERROR_INVALID_DEVICE"},
                                                  {200, "CUDA_ERROR_INVALID_IMAGE"},
                                                  {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                                  {218, "CUDA_ERROR_INVALID_PTX"},
                                                  {400, "CUDA_ERROR_INVALID_HANDLE"},
                                                  {500, "CUDA_ERROR_NOT_FOUND"},
                                                  {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                  {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
                                                  {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
                                                  {719, "CUDA_ERROR_LAUNCH_FAILED"},
                                                  {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
                                                  {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
                                                  {999, "CUDA_ERROR_UNKNOWN"}};

int attribute_of(int which) {
  switch (which) {
    case 1: return 1024;        // threads of a block
    case 5: return 0x7fffffff;  // of a grid
    case 6:
    case 7: return 65'535;
    case 12:
    case 82: return 65'536;     // registers
    case 13: return 1'980'000;  // clock, kHz
    case 16: return options().mig ? 16 : options().processors;
    case 36: return 2'619'000;
    case 37: return 5'120;    // bits of the bus
    case 38: return 1 << 20;  // L2: small, so that cold runs take few copies
    case 39: return 2'048;
    case 75: return options().architecture / 10;
    case 76: return options().architecture % 10;
    case 81: return 233'472;
    case 97: return 232'448;
    case 106: return 32;
    case 111: return 1'024;
    default: return 0;
  }
}

}  // namespace

int begin(const char* name) {
  if (const int code = count_call(name); code != 0) return code;
  return g_poison;
}

}  // namespace lathe::fake_cuda

using namespace lathe::fake_cuda;  // NOLINT: the driver's names are outside of any

FAKE cuInit(unsigned) {
  BEGIN("cuInit");
  return options().cards == 0 || is_lost() ? kNoDevice : 0;
}
FAKE cuDriverGetVersion(int* version) {
  BEGIN("cuDriverGetVersion");
  *version = options().version;
  return 0;
}
FAKE cuGetErrorName(int code, const char** name) {
  *name = nullptr;
  for (const auto& [known, text] : kNames)
    if (known == code) *name = text;
  return *name != nullptr ? 0 : kInvalidValue;
}
FAKE cuGetErrorString(int code, const char** text) { return cuGetErrorName(code, text); }
FAKE cuDeviceGetCount(int* count) {
  BEGIN("cuDeviceGetCount");
  *count = options().cards;
  return 0;
}
FAKE cuDeviceGet(int* id, int number) {
  BEGIN("cuDeviceGet");
  *id = number;
  return number < options().cards ? 0 : kInvalidDevice;
}
FAKE cuDeviceGetName(char* name, int length, int id) {
  BEGIN("cuDeviceGetName");
  const std::string text = options().mig ? "Fake H200 MIG 1g.18gb"
                           : id == 0     ? "Fake H200"
                                         : "Fake H200 number " + std::to_string(id);
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(length));
  return 0;
}
FAKE cuDeviceGetUuid_v2(unsigned char* uuid, int id) {
  BEGIN("cuDeviceGetUuid_v2");
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * id + i);
  return 0;
}
FAKE cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  BEGIN("cuDeviceTotalMem_v2");
  *bytes = static_cast<std::size_t>(options().memory);
  return 0;
}
FAKE cuDeviceGetAttribute(int* value, int which, int) {
  BEGIN("cuDeviceGetAttribute");
  *value = attribute_of(which);
  return 0;
}
FAKE cuCtxSynchronize() {
  BEGIN_IN_CONTEXT("cuCtxSynchronize");
  return g_captures > 0 ? kCaptureUnsupported : 0;
}

FAKE cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  BEGIN_IN_CONTEXT("cuMemGetInfo_v2");
  *total = static_cast<std::size_t>(options().memory);
  const auto most = options().free < 0 ? *total : static_cast<std::size_t>(options().free);
  *free = most > g_bytes ? most - g_bytes : 0;
  return 0;
}
FAKE cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  BEGIN_IN_CONTEXT("cuMemAlloc_v2");
  const auto most =
      static_cast<std::size_t>(options().free < 0 ? options().memory : options().free);
  if (bytes == 0) return kInvalidValue;
  if (g_captures > 0) return kCaptureUnsupported;
  if (g_bytes + bytes > most) return kOutOfMemory;
  void* const place = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (place == nullptr) return kOutOfMemory;
  std::memset(place, 0x3c, bytes);
  *address = reinterpret_cast<std::uintptr_t>(place);
  g_allocated[*address] = {bytes, current_context()->card};
  g_bytes += bytes;
  return 0;
}
FAKE cuMemFree_v2(std::uint64_t address) {
  BEGIN_IN_CONTEXT("cuMemFree_v2");
  const auto found = g_allocated.find(address);
  if (found == g_allocated.end()) return kInvalidValue;
  g_bytes -= found->second.bytes;
  g_allocated.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
FAKE cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  BEGIN_IN_CONTEXT("cuMemcpyHtoDAsync_v2");
  if (is_captured(stream)) return kCaptureUnsupported;  // of the double
  if (!is_allocated(to, bytes)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
FAKE cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  BEGIN_IN_CONTEXT("cuMemcpyDtoHAsync_v2");
  if (is_captured(stream)) return kCaptureUnsupported;  // of the double
  if (!is_allocated(from, bytes)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return 0;
}
FAKE cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
  BEGIN_IN_CONTEXT("cuMemcpyDtoDAsync_v2");
  if (is_captured(stream)) return kCaptureUnsupported;  // of the double
  if (!is_allocated(to, bytes) || !is_allocated(from, bytes)) return kInvalidValue;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return 0;
}
FAKE cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void*) {
  BEGIN_IN_CONTEXT("cuMemsetD8Async");
  if (!is_allocated(to, bytes)) return kInvalidValue;
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return 0;
}

FAKE cuPointerGetAttribute(void* value, int which, std::uint64_t address) {
  BEGIN("cuPointerGetAttribute");
  if (which != 9 || !is_allocated(address, 1)) return kInvalidValue;
  *static_cast<int*>(value) = (--g_allocated.upper_bound(address))->second.card;
  return 0;
}

FAKE cuLinkCreate_v2(unsigned count, int* options, void** values, void** link) {
  BEGIN_IN_CONTEXT("cuLinkCreate_v2");
  auto made = std::make_unique<FakeLink>();
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) made->log = static_cast<char*>(values[i]);
    if (options[i] == 6) made->log_bytes = reinterpret_cast<std::size_t>(values[i]);
  }
  *link = made.release();
  return 0;
}
FAKE cuLinkAddData_v2(void* link, int kind, void* data, std::size_t bytes, const char*, unsigned,
                      int*, void**) {
  BEGIN("cuLinkAddData_v2");
  auto& made = *opaque<FakeLink>(link);
  const auto* const text = static_cast<const char*>(data);
  if (kind != 1 || bytes == 0 || text[bytes - 1] != 0) return kInvalidValue;
  made.text = text;
  try {
    parse_ptx(made.text);
  } catch (const Fault& fault) {
    const std::string line = "ptxas fatal   : " + fault.what;
    if (made.log_bytes > 0) std::strncpy(made.log, line.c_str(), made.log_bytes - 1);
    return fault.code;
  }
  return 0;
}
FAKE cuLinkComplete(void* link, void** code, std::size_t* bytes) {
  BEGIN("cuLinkComplete");
  auto& made = *opaque<FakeLink>(link);
  made.code = std::string(kCodeMark) + made.text + '\0';
  *code = made.code.data();
  *bytes = made.code.size();
  return 0;
}
FAKE cuLinkDestroy(void* link) {
  BEGIN("cuLinkDestroy");
  delete opaque<FakeLink>(link);
  return 0;
}
FAKE cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                        void** values) {
  BEGIN_IN_CONTEXT("cuModuleLoadDataEx");
  try {
    auto loaded = std::make_unique<Loaded>();
    loaded->text = parse_ptx(code_text(image));
    for (const auto& [name, kernel] : loaded->text->kernels)
      loaded->kernels[name] = {loaded->text.get(), &kernel, current_context()};
    *module = loaded.release();
  } catch (const Fault& fault) {
    // Only of text is there a log.
    const std::string line = "ptxas fatal   : " + fault.what;
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5) std::strcpy(static_cast<char*>(values[i]), line.c_str());
    return count > 0 ? fault.code : kInvalidImage;
  }
  return 0;
}
FAKE cuModuleUnload(void* module) {
  BEGIN_IN_CONTEXT("cuModuleUnload");
  delete opaque<Loaded>(module);
  return 0;
}
FAKE cuModuleGetFunction(void** function, void* module, const char* name) {
  BEGIN("cuModuleGetFunction");
  auto& kernels = opaque<Loaded>(module)->kernels;
  const auto found = kernels.find(name);
  if (found == kernels.end()) return kNotFound;
  *function = &found->second;
  return 0;
}
FAKE cuFuncGetAttribute(int* value, int which, void* function) {
  BEGIN("cuFuncGetAttribute");
  const Kernel& kernel = *opaque<LoadedKernel>(function)->kernel;
  switch (which) {
    case 0: *value = 1024; break;
    case 1: *value = static_cast<int>(kernel.shared_bytes); break;
    case 3: *value = static_cast<int>(kernel.local_bytes); break;
    case 4: *value = std::min(64, 8 + kernel.registers); break;
    default: *value = 0;
  }
  return 0;
}
FAKE cuFuncSetAttribute(void* function, int which, int value) {
  BEGIN("cuFuncSetAttribute");
  if (which != 8 || value > attribute_of(97)) return kInvalidValue;
  opaque<LoadedKernel>(function)->dynamic_shared = value;
  return 0;
}
FAKE cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned shared, void* stream, void** parameters, void**) {
  BEGIN_IN_CONTEXT("cuLaunchKernel");
  auto& loaded = *opaque<LoadedKernel>(function);
  if (std::uint64_t{1} * bx * by * bz > 1024 || gy > 65'535 || gz > 65'535 || bz > 64)
    return kInvalidValue;
  if (static_cast<int>(shared) > loaded.dynamic_shared) return kInvalidValue;
  if (static_cast<std::int64_t>(shared) + loaded.kernel->shared_bytes > attribute_of(97))
    return kNoResources;
  auto* const queue = stream_at(stream);
  if (loaded.context != current_context()) return kInvalidHandle;
  if (queue != nullptr && queue->context != current_context()) return kInvalidHandle;
  if (queue == nullptr && g_captures > 0) return kCaptureImplicit;
  Launch launch{&loaded, {{gx, gy, gz}, {bx, by, bz}, shared}, {}};
  for (std::size_t i = 0; i < loaded.kernel->parameters.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters[i], static_cast<std::size_t>(loaded.kernel->parameter_bytes[i]));
    launch.arguments.push_back(value);
  }
  if (queue != nullptr && queue->captures) {
    queue->captured.push_back(std::move(launch));
    return 0;
  }
  // What a kernel does wrong shows at the next call that waits.
  run(launch);
  return 0;
}

FAKE cuStreamCreate(void** stream, unsigned) {
  BEGIN_IN_CONTEXT("cuStreamCreate");
  *stream = new FakeStream;
  return 0;
}
FAKE cuStreamDestroy_v2(void* stream) {
  BEGIN("cuStreamDestroy_v2");
  delete opaque<FakeStream>(stream);
  return 0;
}
FAKE cuStreamSynchronize(void* stream) {
  BEGIN("cuStreamSynchronize");
  return is_captured(stream) ? kCaptureUnsupported : 0;
}
FAKE cuStreamGetCtx(void* stream, const void** context) {
  BEGIN("cuStreamGetCtx");
  *context = stream_at(stream) != nullptr ? stream_at(stream)->context : current_context();
  return 0;
}
FAKE cuStreamIsCapturing(void* stream, int* captures) {
  BEGIN("cuStreamIsCapturing");
  if (stream_at(stream) == nullptr && g_captures > 0) return kCaptureImplicit;
  *captures = is_captured(stream) ? 1 : 0;
  return 0;
}
FAKE cuStreamBeginCapture_v2(void* stream, int) {
  BEGIN("cuStreamBeginCapture_v2");
  opaque<FakeStream>(stream)->captures = true;
  ++g_captures;
  return 0;
}
FAKE cuStreamEndCapture(void* stream, void** graph) {
  auto& queue = *opaque<FakeStream>(stream);
  queue.captures = false;
  --g_captures;
  BEGIN("cuStreamEndCapture");
  *graph = new std::vector<Launch>(std::move(queue.captured));
  queue.captured.clear();
  return 0;
}
FAKE cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  BEGIN("cuGraphInstantiateWithFlags");
  *exec = new std::vector<Launch>(*opaque<std::vector<Launch>>(graph));
  return 0;
}
FAKE cuGraphLaunch(void* exec, void*) {
  BEGIN("cuGraphLaunch");
  for (const Launch& launch : *opaque<std::vector<Launch>>(exec))
    if (run(launch) != 0) break;
  return 0;
}
FAKE cuGraphExecDestroy(void* exec) {
  BEGIN("cuGraphExecDestroy");
  delete opaque<std::vector<Launch>>(exec);
  return 0;
}
FAKE cuGraphDestroy(void* graph) {
  BEGIN("cuGraphDestroy");
  delete opaque<std::vector<Launch>>(graph);
  return 0;
}
FAKE cuEventCreate(void** event, unsigned) {
  BEGIN_IN_CONTEXT("cuEventCreate");
  *event = new FakeEvent;
  return 0;
}
FAKE cuEventRecord(void* event, void*) {
  BEGIN("cuEventRecord");
  opaque<FakeEvent>(event)->time = std::chrono::steady_clock::now();
  return 0;
}
FAKE cuEventSynchronize(void*) { return begin("cuEventSynchronize"); }
FAKE cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  BEGIN("cuEventElapsedTime");
  *milliseconds = std::chrono::duration<float, std::milli>(opaque<FakeEvent>(to)->time -
                                                           opaque<FakeEvent>(from)->time)
                      .count();
  return 0;
}
FAKE cuEventDestroy_v2(void* event) {
  BEGIN("cuEventDestroy_v2");
  delete opaque<FakeEvent>(event);
  return 0;
}
