// Images written by hand, and a runner's server with a device of OpenCL in a thread.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/engine.h"
#include "runtime/device/opencl/image.h"
#include "runtime/runner/server.h"
#include "support/temporary_folder.h"

namespace lathe::opencl {

inline constexpr std::int64_t kElements = 100;

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

inline runner::Fd file_of(const Image& image) {
  const auto bytes = bytes_of(image);
  return *runner::make_memory_file("image", std::span(bytes));
}

// A tuner's end of a channel.
class Asking {
 public:
  explicit Asking(runner::Fd end) : channel_(std::move(end), runner::Patience::kEndless) {
    EXPECT_TRUE(channel_.receive()) << "the greeting";
  }

  template <class Answer, class Question>
  Result<Answer> ask(const Question& question, const std::vector<int>& fds = {}) {
    LATHE_TRY_STATUS(channel_.send(runner::encode(question), fds));
    const runner::Message reply = LATHE_TRY(channel_.receive());
    if (runner::is<Error>(reply)) return std::unexpected(LATHE_TRY(runner::decode<Error>(reply)));
    if (runner::is<runner::Crash>(reply))
      return std::unexpected(LATHE_TRY(runner::decode<runner::Crash>(reply)).error());
    return runner::decode<Answer>(reply);
  }

  // A[i] = i and B[i] = 1000 + i; the reference of C is their sum. B is constant.
  Status set_up(std::int64_t memory_bytes = 0) {
    runner::RunnerSetup setup;
    setup.inputs = inputs();
    setup.outputs = outputs();
    setup.memory_bytes = memory_bytes;
    std::vector<float> data(2 * 112);  // each begins at a multiple of 64 bytes
    std::vector<double> want(2 * kElements);
    for (int i = 0; i < kElements; ++i) {
      data[i] = static_cast<float>(i);
      data[112 + i] = static_cast<float>(1000 + i);
      want[i] = 1000 + 2 * i;  // then as many bounds of 0
    }
    const auto file = runner::make_memory_file("inputs", std::as_bytes(std::span(data)));
    setup.inputs_asset = "inputs";
    LATHE_TRY(ask<runner::Ready>(runner::KeepAsset{"inputs", {}}, {file->get()}));
    LATHE_TRY(ask<runner::Ready>(setup));
    const auto reference = runner::make_memory_file("reference", std::as_bytes(std::span(want)));
    LATHE_TRY(ask<runner::Ready>(runner::KeepAsset{"reference", {}}, {reference->get()}));
    LATHE_TRY(ask<runner::Ready>(runner::ReferenceInfo{"reference", 0}));
    return {};
  }
  Result<runner::Loaded> load(const Image& image, std::int64_t id = 1) {
    const runner::Fd file = file_of(image);
    return ask<runner::Loaded>(runner::Load{id, inputs(), outputs(), true, {}}, {file.get()});
  }
  runner::Channel& channel() { return channel_; }

  static std::vector<tensor::Border> inputs() {
    return {tensor::plain_border("A", Dtype::kF32, {kElements}),
            tensor::plain_border("B", Dtype::kF32, {kElements}, true)};
  }
  static std::vector<tensor::Border> outputs() {
    return {tensor::plain_border("C", Dtype::kF32, {kElements})};
  }

 private:
  runner::Channel channel_;
};

// A server in a thread of this process.
class Served {
 public:
  explicit Served(EngineOptions options = {})
      : ends_(*runner::make_pair_of_ends()),
        thread_([this, options = std::move(options)] {
          runner::Channel channel(std::move(ends_.second), runner::Patience::kEndless);
          const auto engine = make_engine(options);
          runner::Server(channel, *engine).serve();
        }),
        asking_(std::make_unique<Asking>(std::move(ends_.first))) {}
  ~Served() {
    asking_.reset();
    thread_.join();
  }
  Asking* operator->() { return asking_.get(); }

 private:
  std::pair<runner::Fd, runner::Fd> ends_;
  std::thread thread_;
  std::unique_ptr<Asking> asking_;
};

}  // namespace lathe::opencl
