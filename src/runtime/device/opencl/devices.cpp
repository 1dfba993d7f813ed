#include "runtime/device/opencl/devices.h"

#include "runtime/device/ask.h"

namespace lathe::opencl {

Result<Devices> devices_from_json(const Json& json) {
  return device::list_from_json<Facts>(json, facts_from_json);
}

Result<Devices> ask_for_devices() {
  return devices_from_json(
      LATHE_TRY(device::ask_for_devices("lathe-opencl-runner", "the driver of OpenCL")));
}

}  // namespace lathe::opencl
