// What the engines of all kinds of devices do alike. A kind of device adds how it is opened, how a
// candidate's code becomes a candidate, and its sentinel.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/device/candidate.h"
#include "runtime/runner/engine.h"

namespace lathe::device {

// The device is opened with the first workload, whose set_up() tells what is wrong. Threads,
// processors and the shift of a set-up are nothing to a device; its limit of memory holds for the
// constants and the scratch of a candidate, for the address space belongs to the driver.
//
// Outputs and scratch are shared by all candidates. A checked series also fails with kRun where an
// input or the constants are no longer what they were. Nobody tells what others took of a device
// meanwhile, so no sample counts as disturbed: the sentinel, which runs on the device, shows it.
class Engine : public runner::Engine {
 public:
  Status set_up(const runner::RunnerSetup& setup, int inputs) final;
  Result<std::unique_ptr<runner::Runnable>> open(runner::Fd code,
                                                 const std::vector<tensor::Border>& inputs,
                                                 const std::vector<tensor::Border>& outputs,
                                                 const runner::Fd* own_inputs) final;

 protected:
  // Opens it where it is not open yet.
  virtual Status open_device() = 0;
  virtual Memories& memories() = 0;
  virtual Result<std::unique_ptr<runner::Runnable>> open_candidate(std::span<const std::byte> image,
                                                                   Surroundings around) = 0;

 private:
  std::unique_ptr<Tensors> tensors_;
  std::int64_t most_bytes_ = 0;
};

}  // namespace lathe::device
