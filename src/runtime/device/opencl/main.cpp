// `lathe-opencl-runner` is `lathe-runner` for a device of OpenCL: it loads, runs, times and checks
// candidates for the tuner that started it, or tells what devices there are (devices.h).
#include "runtime/device/main.h"

#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/devices.h"
#include "runtime/device/opencl/engine.h"

namespace {

lathe::Result<lathe::Json> list_all() {
  lathe::opencl::Devices devices{LATHE_TRY(lathe::opencl::list_devices()), 0};
  devices.chosen = LATHE_TRY(lathe::opencl::choose_device(devices.facts));
  return to_json(devices);
}

}  // namespace

int main(int count, char** words) {
  return lathe::device::run_helper(count, words, "lathe-opencl-runner", list_all, [] {
    return lathe::opencl::make_engine(
        {.device = {}, .library = {}, .cache = lathe::device::BinaryCache::of_this_user("opencl")});
  });
}
