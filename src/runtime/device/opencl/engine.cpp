#include "runtime/device/opencl/engine.h"

#include <sys/stat.h>

#include <utility>

#include "runtime/device/opencl/candidate.h"
#include "runtime/device/opencl/sentinel.h"

namespace lathe::opencl {
namespace {

constexpr std::int64_t kLongestImage = std::int64_t{1} << 28;  // bytes

Result<Image> read_image(const runner::Fd& code) {
  struct stat info{};
  if (::fstat(code.get(), &info) != 0 || info.st_size > kLongestImage)
    return fail(ErrorKind::kDataLoss, "the candidate's image cannot be read, or is too long");
  return image_from(LATHE_TRY(read_open_file(code.get(), 0, info.st_size)));
}

class OpenclEngine final : public runner::Engine {
 public:
  explicit OpenclEngine(EngineOptions options) : options_(std::move(options)) {}

  Result<Fingerprint> machine() override {
    if (!device_) LATHE_TRY_STATUS(open_device());
    return fingerprint_of(device_->facts());
  }

  Status set_up(const runner::RunnerSetup& setup, int inputs) override {
    if (!device_) LATHE_TRY_STATUS(open_device());
    most_bytes_ = setup.memory_bytes;
    tensors_ = std::make_unique<Tensors>();
    return tensors_->read(*device_, setup.inputs, inputs);
  }

  Result<std::unique_ptr<runner::Runnable>> open(runner::Fd code,
                                                 const std::vector<tensor::Border>& inputs,
                                                 const std::vector<tensor::Border>& outputs,
                                                 const runner::Fd* own_inputs) override {
    std::unique_ptr<Tensors> own;
    if (own_inputs != nullptr) {
      for (const tensor::Border& border : inputs) LATHE_TRY_STATUS(tensor::verify(border));
      own = std::make_unique<Tensors>();
      LATHE_TRY_STATUS(own->read(*device_, inputs, own_inputs->get()));
    }
    const Surroundings around{*device_, options_.cache, flushed_, most_bytes_};
    return DeviceCandidate::open(around, LATHE_TRY(read_image(code)), inputs, outputs, *tensors_,
                                 std::move(own));
  }

  double sentinel() override {
    const auto seconds = sentinel_->run();
    return seconds ? *seconds : 0;
  }

  bool usable() const override { return !device_ || !device_->lost(); }

 private:
  Status open_device() {
    auto device = LATHE_TRY(Device::open(options_.device, options_.library));
    auto sentinel = LATHE_TRY(DeviceSentinel::make(*device, options_.cache));
    device_ = std::move(device);
    sentinel_ = std::move(sentinel);
    return {};
  }

  EngineOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceSentinel> sentinel_;
  GuardedMemory flushed_;
  std::unique_ptr<Tensors> tensors_;
  std::int64_t most_bytes_ = 0;
};

}  // namespace

std::unique_ptr<runner::Engine> make_engine(EngineOptions options) {
  return std::make_unique<OpenclEngine>(std::move(options));
}

}  // namespace lathe::opencl
