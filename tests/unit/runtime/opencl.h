// Images written by hand, and a runner's server with a device of OpenCL in a thread.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/engine.h"
#include "runtime/device/opencl/image.h"
#include "support/temporary_folder.h"
#include "unit/runtime/asking.h"

namespace lathe::opencl {

using test::Asking;
using test::file_of;
using test::kElements;

// One kernel on a workload with inputs A and B and an output C, each of 100 elements of f32.
inline Image make_image(const std::string& source, const std::string& kernel = "f") {
  Image image;
  image.source = source;
  image.options = "-cl-std=CL1.2";
  image.inputs = {4 * kElements, 4 * kElements};
  image.outputs = {4 * kElements};
  image.run = {
      {kernel, {{Area::kInput, 0}, {Area::kInput, 1}, {Area::kOutput, 0}}, {10, 1, 1}, {10, 1, 1}}};
  return image;
}
inline constexpr const char* kSum = R"(
__kernel void f(__global const float* a, __global const float* b, __global float* c) {
  const int i = get_global_id(0);
  c[i] = a[i] + b[i];
}
)";

// Skips where OpenCL has no device.
class OpenclTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto devices = list_devices();
    if (!devices) GTEST_SKIP() << "no OpenCL on this machine: " << devices.error().text();
    device_ = *Device::open();
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Device> device_;
};

class Served : public test::Served {
 public:
  explicit Served(const EngineOptions& options = {})
      : test::Served([options] { return make_engine(options); }) {}
};

}  // namespace lathe::opencl
