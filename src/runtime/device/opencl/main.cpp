// `lathe-opencl-runner` is `lathe-runner` for a device of OpenCL: it loads, runs, times and checks
// candidates for the tuner that started it. `lathe-opencl-runner --devices [FILE]` writes what
// devices there are, as JSON (devices.h), to the file or its output.
#include <cstdio>
#include <string>
#include <string_view>

#include "base/file.h"
#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/devices.h"
#include "runtime/device/opencl/engine.h"
#include "runtime/runner/server.h"

namespace {

lathe::Status tell_devices(const std::string& file) {
  lathe::opencl::Devices devices{LATHE_TRY(lathe::opencl::list_devices()), 0};
  devices.chosen = LATHE_TRY(lathe::opencl::choose_device(devices.facts));
  const std::string text = lathe::dump(to_json(devices), 2) + "\n";
  if (!file.empty()) return lathe::write_whole(file, text);
  std::fputs(text.c_str(), stdout);
  return {};
}

}  // namespace

int main(int count, char** words) {
  if (count >= 2 && count <= 3 && std::string_view(words[1]) == "--devices") {
    const lathe::Status told = tell_devices(count == 3 ? words[2] : "");
    if (!told) std::fprintf(stderr, "%s\n", told.error().text().c_str());
    return told ? 0 : 1;
  }
  return lathe::runner::serve_with("lathe-opencl-runner", [] {
    return lathe::opencl::make_engine(
        {.device = {}, .library = {}, .cache = lathe::device::BinaryCache::of_this_user("opencl")});
  });
}
