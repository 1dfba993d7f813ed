// A candidate on a device of OpenCL.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device/candidate.h"
#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/image.h"
#include "runtime/device/opencl/program.h"

namespace lathe::opencl {

class DeviceCandidate final : public device::Candidate {
 public:
  // Builds the image, packs its inputs and runs `prepare`. `flushed` is what is written to throw
  // other data out of the device's caches.
  static Result<std::unique_ptr<DeviceCandidate>> open(Device& device, const BinaryCache& cache,
                                                       GuardedMemory& flushed, const Image& image,
                                                       device::Surroundings around);

  Result<runner::Sample> call(int calls, CacheMode cache) override;
  Status warm() override;

 private:
  DeviceCandidate(Device& device, GuardedMemory& flushed, device::Surroundings around,
                  device::Demands demands)
      : Candidate(std::move(around), std::move(demands)), device_(device), flushed_(flushed) {}
  Result<double> run_prepare() override;
  Status bind(bool checked) override;
  Status flush();

  Device& device_;
  GuardedMemory& flushed_;
  std::unique_ptr<Program> program_;
  std::vector<BoundLaunch> launches_;
  bool called_ = false;
};

}  // namespace lathe::opencl
