#include "tuner/measure/device.h"

#include <algorithm>

#include "tuner/measure/cpu/device.h"
#include "tuner/measure/cuda/device.h"
#include "tuner/measure/opencl/device.h"

namespace lathe::measure {
namespace {

// The one list of devices.
const Device* const kDevices[] = {&cpu::device(), &opencl::device(), &cuda::device()};

}  // namespace

const Device& device_of(DeviceKind kind) {
  const auto* found = std::ranges::find(kDevices, kind, &Device::kind);
  LATHE_CHECK(found != std::end(kDevices), "this kind of device is in no list of devices");
  return **found;
}

Fingerprint machine_for(const Target& target) { return device_of(target.kind()).fingerprint(); }

}  // namespace lathe::measure
