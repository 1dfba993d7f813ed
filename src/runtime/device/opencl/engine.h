// Runs candidates on a device of OpenCL: their code is an image (image.h).
#pragma once

#include <memory>
#include <string>

#include "runtime/device/opencl/binary_cache.h"
#include "runtime/runner/engine.h"

namespace lathe::opencl {

struct EngineOptions {
  std::string device;   // as choose_device() has it
  std::string library;  // as open_api() has it
  BinaryCache cache;
};

// The device is opened with the first workload, whose set_up() tells what is wrong. Threads,
// processors and the shift of a set-up are nothing to a device; its limit of memory holds for the
// constants and the scratch of a candidate, for the address space belongs to the driver.
//
// Outputs and scratch are shared by all candidates. A checked series also fails with kRun where an
// input or the constants are no longer what they were. Times are spans by the device's clock
// (timed.h). Nobody tells what others took of a device meanwhile, so no sample counts as disturbed:
// the sentinel, which runs on the device, shows it. That holds for a processor under OpenCL, too,
// whose driver's threads compete with each other.
std::unique_ptr<runner::Engine> make_engine(EngineOptions options);

}  // namespace lathe::opencl
