#include "runtime/device/opencl/devices.h"

#include <utility>

#include "base/file.h"
#include "base/helper_path.h"
#include "base/subprocess.h"
#include "base/temporary_folder.h"

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
  const std::string runner = LATHE_TRY(find_helper("lathe-opencl-runner"));
  const TemporaryFolder folder;
  if (folder.path().empty()) return std::unexpected(no_temporary_folder());
  const std::string answer = folder.path() + "/devices.json";
  const Finished finished =
      LATHE_TRY(run_to_end({runner, "--devices", answer}, folder.path() + "/errors"));
  if (finished.status == 0)
    return devices_from_json(LATHE_TRY(parse_json(LATHE_TRY(read_file(answer)))));
  std::string sentence = finished.errors.substr(0, finished.errors.find('\n'));
  if (sentence.empty()) sentence = "the driver of OpenCL crashed when it was asked for its devices";
  return fail(ErrorKind::kNotFound, "{}", sentence);
}

}  // namespace lathe::opencl
