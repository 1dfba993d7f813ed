// Libraries for a device of OpenCL, made, opened and called in tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "api/targets.h"
#include "api/workload.h"
#include "compiler/codegen/llvm/codegen.h"
#include "compiler/codegen/opencl/codegen.h"
#include "compiler/codegen/package/package.h"
#include "runtime/artifact/artifact.h"
#include "runtime/device/opencl/api.h"
#include "runtime/device/opencl/device.h"
#include "support/temporary_folder.h"
#include "unit/package/written_library.h"

namespace lathe {

using opencl::Api;

// The functions of a library, looked up.
struct DeviceLibrary {
  DeviceLibrary(const std::string& path, const std::string& name)
      : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle) throw std::runtime_error(dlerror());
    find(create, name + "_create"), find(create_on, name + "_create_on");
    find(prepare, name + "_prepare"), find(run, name + "_run"), find(run_on, name + "_run_on");
    find(destroy, name + "_destroy"), find(message, name + "_message");
  }
  DeviceLibrary(const DeviceLibrary&) = delete;
  DeviceLibrary& operator=(const DeviceLibrary&) = delete;
  ~DeviceLibrary() { dlclose(handle); }
  template <class F>
  void find(F& f, const std::string& name) {
    f = reinterpret_cast<F>(dlsym(handle, ("lathe_" + name).c_str()));
    if (!f) throw std::runtime_error(name);
  }

  void* handle;
  int (*create)(const lathe_parallel*, lathe_handle**) = nullptr;
  int (*create_on)(void*, void*, lathe_handle**) = nullptr;
  int (*prepare)(lathe_handle*, const DLTensor* const*) = nullptr;
  int (*run)(lathe_handle*, const DLTensor* const*, DLTensor* const*) = nullptr;
  int (*run_on)(lathe_handle*, void* const*, void* const*, void*) = nullptr;
  void (*destroy)(lathe_handle*) = nullptr;
  const char* (*message)(const lathe_handle*) = nullptr;
};

// Tensors of f32 in the host's memory, and what points to them.
struct HostTensors {
  explicit HostTensors(const std::vector<interp::Tensor>& tensors) : shapes(tensors.size()) {
    for (const interp::Tensor& t : tensors) data.emplace_back(t.values.begin(), t.values.end());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      shapes[i] = tensors[i].shape;
      views.push_back({data[i].data(),
                       {kDLCPU, 0},
                       static_cast<int>(shapes[i].size()),
                       {kDLFloat, 32, 1},
                       shapes[i].data(),
                       nullptr,
                       0});
    }
    for (DLTensor& view : views) pointers.push_back(&view);
  }
  std::vector<std::vector<float>> data;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<DLTensor> views;
  std::vector<DLTensor*> pointers;
};

inline std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// A workload with its library, inputs and expected outputs.
struct Case : WrittenLibrary {
  std::unique_ptr<DeviceLibrary> library;
  std::unique_ptr<HostTensors> in, out;

  void expect_right() const {
    for (std::size_t o = 0; o < want.size(); ++o)
      EXPECT_EQ(interp::compare(want[o], doubles(out->data[o])), "");
  }
  void clear() const {
    for (auto& values : out->data) std::ranges::fill(values, -77.0F);
  }
};

class OpenclLibrary : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("POCL_KERNEL_CACHE", "0", 0);  // tests leave nothing behind
    const auto devices = opencl::list_devices();
    if (!devices) GTEST_SKIP() << "no OpenCL on this machine: " << devices.error().text();
    device_ = *opencl::Device::open();
  }

  Case make(const api::WorkloadRequest& request, const std::string& name,
            const std::string& target = "opencl:host") {
    Case c{written_library(request, folder_.at(name + ".so"), name, target)};
    c.library = std::make_unique<DeviceLibrary>(c.files.library, name);
    c.in = std::make_unique<HostTensors>(c.inputs);
    c.out = std::make_unique<HostTensors>(c.want);
    c.clear();
    return c;
  }
  Case product(const std::string& name = "product") {
    return make({.text = "C[i,j] = sum(k) A[k,i] * B[k,j]", .shapes = {"A=24,40", "B=24,33"}},
                name);
  }
  Case convolution() {
    return make(
        {.text = "conv2d", .flags = {{"input", "1,8,14,14"}, {"weight", "16,8,3,3"}, {"pad", "1"}}},
        "conv");
  }
  const Api& api() const { return device_->api(); }
  // A buffer of the test's own context with these numbers.
  opencl::Owned<opencl::Buffer> buffer(const std::vector<float>& values) const {
    return buffer_in(device_->context(), device_->queue(), values);
  }
  opencl::Owned<opencl::Buffer> buffer_in(opencl::Context context, opencl::Queue queue,
                                          const std::vector<float>& values) const {
    opencl::Code code = 0;
    opencl::Owned<opencl::Buffer> made(
        api().CreateBuffer(context, opencl::kReadWrite, 4 * values.size(), nullptr, &code),
        [release = api().ReleaseMemObject](opencl::Buffer b) { release(b); });
    EXPECT_EQ(api().EnqueueWriteBuffer(queue, made.get(), 1, 0, 4 * values.size(), values.data(), 0,
                                       nullptr, nullptr),
              0);
    return made;
  }
  void read(const opencl::Owned<opencl::Buffer>& from, std::vector<float>& to) const {
    EXPECT_EQ(api().EnqueueReadBuffer(device_->queue(), from.get(), 1, 0, 4 * to.size(), to.data(),
                                      0, nullptr, nullptr),
              0);
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<opencl::Device> device_;
};

}  // namespace lathe
