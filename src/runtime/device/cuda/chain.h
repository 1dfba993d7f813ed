// Launches as a chain in a graph: how a program is timed on a card.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/program.h"

namespace lathe::cuda {

// Gives launches to the stream, one after the other. It does not wait.
Status launch_all(Device& device, std::span<const BoundLaunch> launches);

// Calls of a program as one graph, each depending on the one before. A caller's launches, one by
// one, cost the host some microseconds each, more than many kernels take; in a graph the card goes
// on by itself.
class Chain {
 public:
  // `sets` are one program's launches, each on memory of its own; calls use them in turn.
  static Result<std::unique_ptr<Chain>> make(Device& device,
                                             std::span<const std::vector<BoundLaunch>> sets,
                                             int calls);
  // Runs it and waits. Returns the seconds of one call, by the card's clock. A kernel that never
  // ends is not noticed here: whoever waits for this process has to kill it.
  Result<double> run();
  int calls() const { return calls_; }

 private:
  Chain(Device& device, int calls) : device_(device), calls_(calls) {}

  Device& device_;
  Owned<GraphExec> exec_;
  int calls_;
};

}  // namespace lathe::cuda
