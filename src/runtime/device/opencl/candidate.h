// A candidate on a device: its program, its packed inputs and its constants.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device/opencl/binary_cache.h"
#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/image.h"
#include "runtime/device/opencl/program.h"
#include "runtime/device/opencl/tensors.h"
#include "runtime/device/opencl/timed.h"
#include "runtime/runner/engine.h"

namespace lathe::opencl {

// What candidates need of their engine.
struct Surroundings {
  Device& device;
  const BinaryCache& cache;
  GuardedMemory& flushed;   // what is written to throw other data out of the device's caches
  std::int64_t most_bytes;  // of a candidate's constants and scratch; 0: any number
};

class DeviceCandidate final : public runner::Runnable {
 public:
  // Builds the image, packs its inputs and runs `prepare`. `own` holds the tensors where they are
  // not the workload's; else it is null.
  static Result<std::unique_ptr<DeviceCandidate>> open(const Surroundings& around, Image image,
                                                       const std::vector<tensor::Border>& inputs,
                                                       const std::vector<tensor::Border>& outputs,
                                                       Tensors& tensors,
                                                       std::unique_ptr<Tensors> own);

  Status begin(bool checked) override;
  Result<runner::Sample> call(int calls, bool cold) override;
  Status warm() override;
  Status check_memory() override;
  Result<const std::byte*> output(std::size_t number) override;
  std::int64_t resident_bytes() const override;
  double prepare_seconds() const override { return prepare_seconds_; }

 private:
  DeviceCandidate(const Surroundings& around, Image image, Tensors& tensors,
                  std::unique_ptr<Tensors> own)
      : around_(around),
        image_(std::move(image)),
        own_(std::move(own)),
        tensors_(own_ ? *own_ : tensors) {}
  Status check_sizes() const;
  Status place_inputs();
  Status prepare();
  Owned<Buffer> buffer_of(const Argument& argument) const;
  Status flush();

  Surroundings around_;
  Image image_;
  std::unique_ptr<Tensors> own_;
  Tensors& tensors_;
  std::vector<tensor::Border> inputs_, outputs_;
  std::vector<InputMemory> packed_;  // inputs that are not stored row-major; empty for the others
  GuardedMemory constants_;
  std::vector<std::byte> constants_then_;  // as prepare() left them, until they were checked
  std::unique_ptr<Program> program_;
  std::vector<BoundLaunch> launches_;
  std::vector<std::vector<std::byte>> read_outputs_;  // of the last call
  double prepare_seconds_ = 0;
  bool called_ = false;
};

}  // namespace lathe::opencl
