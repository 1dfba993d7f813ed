// The sentinel of a card: work that is always the same, timed beside candidates.
#pragma once

#include <memory>

#include "base/result.h"
#include "runtime/device/cuda/chain.h"
#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/program.h"

namespace lathe::cuda {

// Multiply-adds of one thread, each waiting for the one before: some dozens of microseconds. Its
// time shows a clock that changed, or somebody else's work in turns with ours. Of memory, and of
// what runs beside it on other multiprocessors, it shows nothing.
class DeviceSentinel {
 public:
  static Result<std::unique_ptr<DeviceSentinel>> make(Device& device, const BinaryCache& cache);
  Result<double> run();  // seconds, the shortest of a few

 private:
  explicit DeviceSentinel(Device& device) : device_(device) {}

  Device& device_;
  std::unique_ptr<Program> program_;
  GuardedMemory memory_;
  std::unique_ptr<Chain> chain_;
};

}  // namespace lathe::cuda
