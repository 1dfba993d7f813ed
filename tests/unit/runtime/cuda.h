// Images written by hand, and a runner's server in a thread, on the double of NVIDIA's driver.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/engine.h"
#include "runtime/device/cuda/image.h"
#include "support/temporary_folder.h"
#include "unit/runtime/asking.h"

namespace lathe::cuda {

using test::Asking;
using test::file_of;
using test::kElements;

// A kernel with so many pointers, in %rd1, %rd2, ...; %r1 is the number of the thread in the grid,
// and %rd9 its offset among elements of four bytes.
inline std::string kernel_of(const std::string& name, int pointers, const std::string& body) {
  std::string parameters, loads;
  for (int i = 0; i < pointers; ++i) {
    parameters += fmt::format("{}.param .u64 {}_param_{}", i > 0 ? ", " : "", name, i);
    loads += fmt::format("ld.param.u64 %rd{}, [{}_param_{}];\n", i + 1, name, i);
    loads += fmt::format("cvta.to.global.u64 %rd{0}, %rd{0};\n", i + 1);
  }
  return ".visible .entry " + name + "(" + parameters + ")\n{\n" +
         ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .f32 %f<32>;\n.reg .b64 %rd<32>;\n" + loads +
         "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
         "mad.lo.s32 %r1, %r2, %r3, %r4;\nmul.wide.u32 %rd9, %r1, 4;\n" +
         body + "ret;\n}\n";
}
inline std::string text_of(const std::string& kernels) {
  return ".version 6.3\n.target sm_75\n.address_size 64\n" + kernels;
}

// Loads an element of the i-th pointer into %f<i>, and stores %f3 to the third.
inline std::string load_of(int i) {
  return fmt::format("add.s64 %rd1{0}, %rd{0}, %rd9;\nld.global.f32 %f{0}, [%rd1{0}];\n", i);
}
inline constexpr const char* kStore = "add.s64 %rd13, %rd3, %rd9;\nst.global.f32 [%rd13], %f3;\n";
inline std::string sum_body(const std::string& before = "") {
  return load_of(1) + load_of(2) + "add.rn.f32 %f3, %f1, %f2;\n" + before + kStore;
}

// One kernel on a workload with inputs A and B and an output C, each of 100 elements of f32.
inline Image make_image(const std::string& kernels, const std::string& kernel = "f") {
  Image image;
  image.ptx = text_of(kernels);
  image.architecture = 75;
  image.inputs = {4 * kElements, 4 * kElements};
  image.outputs = {4 * kElements};
  image.run = {{.kernel = kernel,
                .arguments = {{Area::kInput, 0}, {Area::kInput, 1}, {Area::kOutput, 0}},
                .groups = {10, 1, 1},
                .items = {10, 1, 1}}};
  return image;
}
inline Image sum_image(const std::string& before = "") {
  return make_image(kernel_of("f", 3, sum_body(before)));
}

// What the double is told, for the processes that are started while this object lives.
class Told {
 public:
  explicit Told(const std::string& words) { ::setenv("LATHE_FAKE_CUDA", words.c_str(), 1); }
  ~Told() { ::unsetenv("LATHE_FAKE_CUDA"); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
};

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("LATHE_CUDA_LIBRARY", LATHE_FAKE_CUDA_LIBRARY, 1);
    ::setenv("XDG_CACHE_HOME", folder_.at("cache").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("LATHE_CUDA_LIBRARY");
    ::unsetenv("XDG_CACHE_HOME");
  }

  test::TemporaryFolder folder_;
};

class ServedCard : public test::Served {
 public:
  explicit ServedCard(const EngineOptions& options = {})
      : test::Served([options] { return make_engine(options); }) {}
};

}  // namespace lathe::cuda
