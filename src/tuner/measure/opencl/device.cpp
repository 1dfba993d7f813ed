#include "tuner/measure/opencl/device.h"

#include <algorithm>

#include "runtime/device/opencl/devices.h"
#include "tuner/measure/grid_kernels.h"

namespace lathe::measure::opencl {
namespace {

// What the machine has, asked once: another process answers.
const Result<lathe::opencl::Devices>& devices_here() {
  static const Result<lathe::opencl::Devices> devices = lathe::opencl::ask_for_devices();
  return devices;
}

// The one that a runner opens; of none: no record has its name.
Fingerprint fingerprint_here() {
  const auto& devices = devices_here();
  return devices ? lathe::opencl::fingerprint_of(devices->facts[devices->chosen])
                 : Fingerprint{OpenClFingerprint{}};
}

// Where nothing is timed, programs for another device may run here; the runner tells if one cannot.
Status check_here(const Target& target, const Options& options) {
  const auto& devices = devices_here();
  if (!devices) return std::unexpected(devices.error());
  const std::string& name = devices->facts[devices->chosen].name;
  if (name == target.as_opencl().name || options.visits == 0) return {};
  return fail(ErrorKind::kInvalidArgument,
              "programs for {} cannot be timed here, where the device is {}; use opencl:host, or "
              "choose another with LATHE_OPENCL_DEVICE",
              target.text(), name);
}

// The device's processors may be the builders': building and timing take turns.
Gate gate_of(const Target&, const Options& options) {
  return {.timed = {}, .others = {}, .overlap = false, .builders = options.jobs, .guest = false};
}

constexpr Device kDevice{.kind = DeviceKind::kOpenCl,
                         .runner = "lathe-opencl-runner",
                         .watched = "zones in which a write is noticed",
                         .opening_seconds = 20,
                         .fingerprint = fingerprint_here,
                         .check = check_here,
                         .gate = gate_of,
                         .peak_kernel = grid_peak_kernel,
                         .stream_kernel = grid_stream_kernel};

}  // namespace

const Device& device() { return kDevice; }

}  // namespace lathe::measure::opencl
