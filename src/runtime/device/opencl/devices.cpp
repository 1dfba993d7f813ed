#include "runtime/device/opencl/devices.h"

#include <utility>

#include "runtime/device/ask.h"

namespace lathe::opencl {

Json to_json(const Devices& devices) {
  Json list = Json::array();
  for (const Facts& facts : devices.facts) list.push_back(to_json(facts));
  return {{"devices", std::move(list)}, {"chosen", devices.chosen}};
}

Result<Devices> devices_from_json(const Json& json) {
  Devices devices;
  for (const Json& facts : LATHE_TRY(json_array(json, "devices")))
    devices.facts.push_back(LATHE_TRY(facts_from_json(facts)));
  const std::uint64_t chosen = LATHE_TRY(json_uint(json, "chosen"));
  if (chosen >= devices.facts.size())
    return fail(ErrorKind::kInvalidArgument, "the chosen device {} is not there", chosen);
  devices.chosen = static_cast<std::size_t>(chosen);
  return devices;
}

Result<Devices> ask_for_devices() {
  return devices_from_json(
      LATHE_TRY(device::ask_for_devices("lathe-opencl-runner", "the driver of OpenCL")));
}

}  // namespace lathe::opencl
