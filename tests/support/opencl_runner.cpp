#include "support/opencl_runner.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <dlfcn.h>

namespace lathe::testing {
namespace {

// What is needed of OpenCL's API; its handles are pointers.
using Handle = void*;
constexpr std::uint64_t kAllDevices = 0xFFFFFFFF, kReadWrite = 1;
constexpr std::uint32_t kDeviceName = 0x102B, kDeviceExtensions = 0x1030, kBuildLog = 0x1183;

struct Api {
  int (*platforms)(std::uint32_t, Handle*, std::uint32_t*);
  int (*devices)(Handle, std::uint64_t, std::uint32_t, Handle*, std::uint32_t*);
  int (*device_info)(Handle, std::uint32_t, std::size_t, void*, std::size_t*);
  Handle (*context)(const void*, std::uint32_t, const Handle*, void*, void*, int*);
  Handle (*queue)(Handle, Handle, std::uint64_t, int*);
  Handle (*program)(Handle, std::uint32_t, const char**, const std::size_t*, int*);
  int (*build)(Handle, std::uint32_t, const Handle*, const char*, void*, void*);
  int (*build_info)(Handle, Handle, std::uint32_t, std::size_t, void*, std::size_t*);
  Handle (*kernel)(Handle, const char*, int*);
  int (*argument)(Handle, std::uint32_t, std::size_t, const void*);
  Handle (*buffer)(Handle, std::uint64_t, std::size_t, void*, int*);
  int (*write)(Handle, Handle, std::uint32_t, std::size_t, std::size_t, const void*, std::uint32_t,
               const void*, void*);
  int (*read)(Handle, Handle, std::uint32_t, std::size_t, std::size_t, void*, std::uint32_t,
              const void*, void*);
  int (*launch)(Handle, Handle, std::uint32_t, const std::size_t*, const std::size_t*,
                const std::size_t*, std::uint32_t, const void*, void*);
  int (*finish)(Handle);
  int (*release_buffer)(Handle);
  int (*release_kernel)(Handle);
  int (*release_program)(Handle);
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Result<Api> load_api() {
  setenv("POCL_KERNEL_CACHE", "0", 0);  // tests leave nothing behind
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(ErrorKind::kNotFound, "there is no libOpenCL.so.1");
  Api api{};
  const bool whole = find(library, "clGetPlatformIDs", api.platforms) &&
                     find(library, "clGetDeviceIDs", api.devices) &&
                     find(library, "clGetDeviceInfo", api.device_info) &&
                     find(library, "clCreateContext", api.context) &&
                     find(library, "clCreateCommandQueue", api.queue) &&
                     find(library, "clCreateProgramWithSource", api.program) &&
                     find(library, "clBuildProgram", api.build) &&
                     find(library, "clGetProgramBuildInfo", api.build_info) &&
                     find(library, "clCreateKernel", api.kernel) &&
                     find(library, "clSetKernelArg", api.argument) &&
                     find(library, "clCreateBuffer", api.buffer) &&
                     find(library, "clEnqueueWriteBuffer", api.write) &&
                     find(library, "clEnqueueReadBuffer", api.read) &&
                     find(library, "clEnqueueNDRangeKernel", api.launch) &&
                     find(library, "clFinish", api.finish) &&
                     find(library, "clReleaseMemObject", api.release_buffer) &&
                     find(library, "clReleaseKernel", api.release_kernel) &&
                     find(library, "clReleaseProgram", api.release_program);
  if (!whole) return fail(ErrorKind::kNotFound, "libOpenCL.so.1 lacks functions");
  return api;
}

const Result<Api>& api() {
  static const Result<Api> loaded = load_api();
  return loaded;
}

Status check(int code, const char* what) {
  if (code == 0) return {};
  return fail(ErrorKind::kRun, "{} fails with {}", what, code);
}

std::string device_text(const Api& cl, Handle device, std::uint32_t what) {
  std::size_t bytes = 0;
  cl.device_info(device, what, 0, nullptr, &bytes);
  std::string text(bytes, ' ');
  cl.device_info(device, what, bytes, text.data(), nullptr);
  return text.c_str();
}

// A buffer with bytes behind it that nobody may change.
class DeviceBuffer {
 public:
  static constexpr std::size_t kBehind = 256;
  static constexpr std::byte kUntouched{0x5a};

  DeviceBuffer(const Api& cl, Handle context, Handle queue, const interp::Bytes& content)
      : cl_(cl), queue_(queue), bytes_(content.size()) {
    interp::Bytes all = content;
    all.resize(bytes_ + kBehind, kUntouched);
    handle_ = cl.buffer(context, kReadWrite, all.size(), nullptr, nullptr);
    if (handle_ != nullptr)
      cl.write(queue, handle_, 1, 0, all.size(), all.data(), 0, nullptr, nullptr);
  }
  ~DeviceBuffer() {
    if (handle_ != nullptr) cl_.release_buffer(handle_);
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  const Handle* handle() const { return &handle_; }
  Result<interp::Bytes> content() const {
    interp::Bytes all(bytes_ + kBehind);
    LATHE_TRY_STATUS(check(
        cl_.read(queue_, handle_, 1, 0, all.size(), all.data(), 0, nullptr, nullptr), "reading"));
    if (!std::all_of(all.begin() + static_cast<std::ptrdiff_t>(bytes_), all.end(),
                     [](std::byte b) { return b == kUntouched; }))
      return fail(ErrorKind::kRun, "a kernel wrote behind a buffer");
    all.resize(bytes_);
    return all;
  }

 private:
  const Api& cl_;
  Handle queue_, handle_;
  std::size_t bytes_;
};

struct Memory {
  std::vector<std::unique_ptr<DeviceBuffer>> inputs, outputs;
  std::unique_ptr<DeviceBuffer> constants, scratch;

  const DeviceBuffer& of(const opencl::Argument& a) const {
    const auto position = static_cast<std::size_t>(a.position);
    switch (a.area) {
      case opencl::Area::kInput: return *inputs.at(position);
      case opencl::Area::kOutput: return *outputs.at(position);
      case opencl::Area::kConstant: return *constants;
      case opencl::Area::kScratch: break;
    }
    return *scratch;
  }
};

Status launch(const Api& cl, Handle queue, Handle program, const opencl::Launch& l,
              const Memory& memory) {
  int code = 0;
  Handle kernel = cl.kernel(program, l.kernel.c_str(), &code);
  LATHE_TRY_STATUS(check(code, "finding a kernel"));
  for (std::size_t a = 0; a < l.arguments.size(); ++a)
    LATHE_TRY_STATUS(check(cl.argument(kernel, static_cast<std::uint32_t>(a), sizeof(Handle),
                                       memory.of(l.arguments[a]).handle()),
                           "setting an argument"));
  std::size_t all[3], items[3];
  for (std::size_t d = 0; d < 3; ++d) {
    items[d] = static_cast<std::size_t>(l.items[d]);
    all[d] = items[d] * static_cast<std::size_t>(l.groups[d]);
  }
  LATHE_TRY_STATUS(
      check(cl.launch(queue, kernel, 3, nullptr, all, items, 0, nullptr, nullptr), "launching"));
  LATHE_TRY_STATUS(check(cl.finish(queue), "finishing"));
  cl.release_kernel(kernel);
  return {};
}

Result<Handle> built(const Api& cl, Handle context, Handle device, const opencl::Image& image) {
  const char* text = image.source.c_str();
  int code = 0;
  Handle program = cl.program(context, 1, &text, nullptr, &code);
  LATHE_TRY_STATUS(check(code, "making a program"));
  if (cl.build(program, 1, &device, image.options.c_str(), nullptr, nullptr) == 0) return program;
  std::string log(20'000, ' ');
  cl.build_info(program, device, kBuildLog, log.size(), log.data(), nullptr);
  return fail(ErrorKind::kBuild, "{}\n{}", log.c_str(), image.source);
}

}  // namespace

Result<OpenClRunner> OpenClRunner::open() {
  if (!api()) return std::unexpected(api().error());
  const Api& cl = *api();
  Handle platform = nullptr;
  OpenClRunner out;
  if (cl.platforms(1, &platform, nullptr) != 0 || platform == nullptr)
    return fail(ErrorKind::kNotFound, "there is no OpenCL platform");
  if (cl.devices(platform, kAllDevices, 1, &out.device_, nullptr) != 0)
    return fail(ErrorKind::kNotFound, "the OpenCL platform has no device");
  int code = 0;
  out.context_ = cl.context(nullptr, 1, &out.device_, nullptr, nullptr, &code);
  LATHE_TRY_STATUS(check(code, "making a context"));
  out.queue_ = cl.queue(out.context_, out.device_, 0, &code);
  LATHE_TRY_STATUS(check(code, "making a queue"));
  out.name_ = device_text(cl, out.device_, kDeviceName);
  out.extensions_ = device_text(cl, out.device_, kDeviceExtensions);
  return out;
}

bool OpenClRunner::has_extension(const std::string& name) const {
  return extensions_.find(name) != std::string::npos;
}

Result<std::vector<interp::Bytes>> OpenClRunner::run(const opencl::Image& image,
                                                     std::span<const interp::Bytes> inputs) const {
  const Api& cl = *api();
  Handle program = LATHE_TRY(built(cl, context_, device_, image));
  const auto make = [&](const interp::Bytes& content) {
    return std::make_unique<DeviceBuffer>(cl, context_, queue_, content);
  };
  const auto filled = [&](std::int64_t bytes) {
    return make(interp::Bytes(static_cast<std::size_t>(bytes), std::byte{0xff}));
  };
  Memory memory;
  for (const interp::Bytes& input : inputs) memory.inputs.push_back(make(input));
  for (const std::int64_t bytes : image.outputs) memory.outputs.push_back(filled(bytes));
  memory.constants = filled(image.constant_bytes);
  memory.scratch = filled(image.scratch_bytes);
  for (const auto* launches : {&image.prepare, &image.run})
    for (const opencl::Launch& l : *launches)
      LATHE_TRY_STATUS(launch(cl, queue_, program, l, memory));
  cl.release_program(program);
  std::vector<interp::Bytes> outputs;
  for (const auto& output : memory.outputs) outputs.push_back(LATHE_TRY(output->content()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (LATHE_TRY(memory.inputs[i]->content()) != inputs[i])
      return fail(ErrorKind::kRun, "a kernel wrote to input {}", i);
  LATHE_TRY_STATUS(memory.constants->content());
  LATHE_TRY_STATUS(memory.scratch->content());
  return outputs;
}

}  // namespace lathe::testing
