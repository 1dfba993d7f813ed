// What is known of devices: by name, and from files that describe them.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/opencl_json.h"
#include "compiler/codegen/opencl/codegen.h"
#include "runtime/device/opencl/devices.h"

namespace lathe::codegen {
namespace {

// What every device of OpenCL 1.2 can do, but for the size of its groups, which few have smaller.
OpenClTarget generic_device() {
  OpenClTarget device{.name = "generic"};
  device.compute_units = 1;
  device.group_items = 256;
  device.local_bytes = 32 << 10;
  device.local_is_real = true;
  device.vector_width = 4;
  return device;
}

Result<OpenClTarget> described(const std::string& path, const std::string& text) {
  OpenClTarget device{.name = path};
  const auto read = [&]() -> Status {
    const Json json = LATHE_TRY(parse_json(text));
    LATHE_TRY_STATUS(check_members(json, opencl_members({}), "the description of a device"));
    return read_opencl_members(json, device);
  };
  if (const Status status = read(); !status)
    return fail_at(path, status.error().kind, "{}", status.error().message);
  return device;
}

// A processor's target may have options behind its name, a device's has none.
Status refuse_options(const std::string& name) {
  const auto end = name.find_first_of(";,");
  const std::string device = name.substr(0, end);
  if (end == std::string::npos || (device != "generic" && device != "host")) return {};
  return fail(ErrorKind::kInvalidArgument,
              "only a processor's target has options; write opencl:{} without \"{}\"", device,
              name.substr(end));
}

OpenClTarget target_of(const opencl::Facts& facts) {
  constexpr int kUsual = 4, kWidest = 16;  // where scalars are preferred, vectors do no harm
  OpenClTarget device{.name = facts.name};
  device.compute_units = facts.compute_units;
  device.group_items = facts.group_size;
  device.local_bytes = facts.local_bytes;
  device.local_is_real = facts.local_is_real;
  device.vector_width = std::clamp(facts.vector_floats, kUsual, kWidest);
  device.images = facts.images;
  device.fp16 = facts.fp16;
  device.fp64 = facts.fp64;
  return device;
}

}  // namespace

Result<OpenClTarget> query_opencl_device(std::string_view name) {
  const opencl::Devices devices = LATHE_TRY(opencl::ask_for_devices());
  if (name == "host") return target_of(devices.facts[devices.chosen]);
  std::vector<std::string> names;
  for (const opencl::Facts& facts : devices.facts) {
    if (facts.name == name) return target_of(facts);
    names.push_back(facts.name);
  }
  return fail(ErrorKind::kNotFound,
              "this machine has no OpenCL device named \"{}\"; it has {}; opencl:generic, and "
              "opencl:FILE with a file that describes a device, need none",
              name, fmt::join(names, ", "));
}

Result<OpenClTarget> opencl_device(const std::string& name) {
  if (name == "generic") return generic_device();
  if (name == "host") return query_opencl_device(name);
  LATHE_TRY_STATUS(refuse_options(name));
  const auto text = read_file(name);
  if (text) return described(name, *text);
  if (name.find('/') == std::string::npos && !name.ends_with(".json"))
    return query_opencl_device(name);
  return std::unexpected(text.error());
}

}  // namespace lathe::codegen
