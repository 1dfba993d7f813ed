// The sentinel of a device: work that is always the same, timed beside candidates.
#pragma once

#include <memory>

#include "base/result.h"
#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/program.h"

namespace lathe::opencl {

// Multiply-adds in registers, in few work groups: it takes a fast device some dozens of
// microseconds, a processor some hundreds, and shows a clock that changed or somebody else's work
// on the device. Of a disturbed memory it shows nothing.
class DeviceSentinel {
 public:
  static Result<std::unique_ptr<DeviceSentinel>> make(Device& device, const BinaryCache& cache);
  Result<double> run();  // seconds, the shortest of a few

 private:
  explicit DeviceSentinel(Device& device) : device_(device) {}

  Device& device_;
  std::unique_ptr<Program> program_;
  GuardedMemory memory_;
  std::vector<BoundLaunch> launches_;
};

}  // namespace lathe::opencl
