// Runs candidates on a device of OpenCL: their code is an image (image.h).
#pragma once

#include <memory>
#include <string>

#include "runtime/device/binary_cache.h"
#include "runtime/runner/engine.h"

namespace lathe::opencl {

struct EngineOptions {
  std::string device;   // as choose_device() has it
  std::string library;  // as open_api() has it
  device::BinaryCache cache;
};

// As runtime/device/engine.h has it. Times are spans by the device's clock (timed.h). That no
// sample counts as disturbed holds for a processor under OpenCL, too, whose driver's threads
// compete with each other.
std::unique_ptr<runner::Engine> make_engine(EngineOptions options);

}  // namespace lathe::opencl
