#include "runtime/device/cuda/devices.h"

#include <algorithm>
#include <charconv>

#include "base/environment.h"
#include "runtime/device/ask.h"

namespace lathe::cuda {
namespace {

bool is_meant(const Facts& facts, std::size_t number, const std::string& wanted) {
  std::size_t as_number = 0;
  const char* const end = wanted.data() + wanted.size();
  const auto parsed = std::from_chars(wanted.data(), end, as_number);
  if (parsed.ec == std::errc() && parsed.ptr == end) return as_number == number;
  if (wanted.starts_with("GPU-") || wanted.starts_with("MIG-"))
    return facts.uuid.starts_with(wanted);
  return facts.name == wanted;
}

}  // namespace

Result<std::size_t> choose_device(const std::vector<Facts>& devices, const std::string& wanted) {
  const std::string meant = wanted.empty() ? environment("LATHE_CUDA_DEVICE") : wanted;
  std::string names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (meant.empty() || is_meant(devices[i], i, meant)) return i;
    names += fmt::format("{}{} ({}, {})", i == 0 ? "" : "; ", i, devices[i].name, devices[i].uuid);
  }
  return fail(ErrorKind::kNotFound,
              "no card is called {}; there are {}; write the number, the UUID or the name of one",
              meant, names);
}

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
    return fail(ErrorKind::kInvalidArgument, "the chosen card {} is not there", chosen);
  devices.chosen = static_cast<std::size_t>(chosen);
  return devices;
}

Result<Devices> ask_for_devices() {
  return devices_from_json(
      LATHE_TRY(device::ask_for_devices("lathe-cuda-runner", "the driver of NVIDIA")));
}

}  // namespace lathe::cuda
