#include "runtime/device/opencl/engine.h"

#include <utility>

#include "runtime/device/engine.h"
#include "runtime/device/opencl/candidate.h"
#include "runtime/device/opencl/sentinel.h"

namespace lathe::opencl {
namespace {

class OpenclEngine final : public device::Engine {
 public:
  explicit OpenclEngine(EngineOptions options) : options_(std::move(options)) {}

  Result<Fingerprint> machine() override {
    LATHE_TRY_STATUS(open_device());
    return fingerprint_of(device_->facts());
  }

  double sentinel() override {
    const auto seconds = sentinel_->run();
    return seconds ? *seconds : 0;
  }

  bool usable() const override { return !device_ || !device_->lost(); }

 private:
  Status open_device() override {
    if (device_) return {};
    auto device = LATHE_TRY(Device::open(options_.device, options_.library));
    auto sentinel = LATHE_TRY(DeviceSentinel::make(*device, options_.cache));
    device_ = std::move(device);
    sentinel_ = std::move(sentinel);
    return {};
  }

  device::Memories& memories() override { return *device_; }

  Result<std::unique_ptr<runner::Runnable>> open_candidate(std::span<const std::byte> image,
                                                           device::Surroundings around) override {
    return DeviceCandidate::open(*device_, options_.cache, flushed_, LATHE_TRY(image_from(image)),
                                 std::move(around));
  }

  EngineOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceSentinel> sentinel_;
  GuardedMemory flushed_;
};

}  // namespace

std::unique_ptr<runner::Engine> make_engine(EngineOptions options) {
  return std::make_unique<OpenclEngine>(std::move(options));
}

}  // namespace lathe::opencl
