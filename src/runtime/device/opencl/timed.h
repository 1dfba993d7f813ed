// Runs launches on a device and tells how long they took, by the device's own clock.
#pragma once

#include <span>

#include "base/result.h"
#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/program.h"

namespace lathe::opencl {

// Of several calls, in seconds.
struct DeviceTime {
  // From the start of a call's first kernel to the end of its last, summed over the calls. This is
  // what a call is said to take: a program of three launches pays for the two gaps between them,
  // and its caller cannot avoid them. How long the host takes to hand a call over is not in it:
  // that says little of the program, much of the driver, and hides behind the work of a busy queue.
  double spans = 0;
  double kernels = 0;  // the launches alone, summed: the rest of `spans` is gaps
  double wall = 0;     // of all, by the host's clock
};

// Calls the launches in order, `calls` times, and waits. All of a series are in the queue before
// the device is asked for their end, so that it need not wait for the host. A kernel that never
// ends is not noticed here: whoever waits for this process has to kill it. kRun: a kernel failed,
// and the device may be lost.
Result<DeviceTime> run_timed(Device& device, std::span<const BoundLaunch> launches, int calls);

}  // namespace lathe::opencl
