#include "runtime/device/cuda/engine.h"

#include <utility>

#include "runtime/device/cuda/candidate.h"
#include "runtime/device/cuda/sentinel.h"
#include "runtime/device/engine.h"

namespace lathe::cuda {
namespace {

class CudaEngine final : public device::Engine {
 public:
  explicit CudaEngine(EngineOptions options) : options_(std::move(options)) {
    // Whoever asks for a candidate is told why there is no card.
    static_cast<void>(open_device());
  }

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
    shared_ = std::make_unique<Shared>(*device_, options_.cache, GuardedMemory(), GuardedMemory());
    return {};
  }

  device::Memories& memories() override { return *device_; }

  Result<std::unique_ptr<runner::Runnable>> open_candidate(std::span<const std::byte> image,
                                                           device::Surroundings around) override {
    return DeviceCandidate::open(*shared_, LATHE_TRY(image_from(image)), std::move(around));
  }

  EngineOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceSentinel> sentinel_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace

std::unique_ptr<runner::Engine> make_engine(EngineOptions options) {
  return std::make_unique<CudaEngine>(std::move(options));
}

}  // namespace lathe::cuda
