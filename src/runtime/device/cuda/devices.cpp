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

Result<Devices> devices_from_json(const Json& json) {
  return device::list_from_json<Facts>(json, facts_from_json);
}

Result<Devices> ask_for_devices() {
  return devices_from_json(
      LATHE_TRY(device::ask_for_devices("lathe-cuda-runner", "the driver of NVIDIA")));
}

}  // namespace lathe::cuda
