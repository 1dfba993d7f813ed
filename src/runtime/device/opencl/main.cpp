// `lathe-opencl-runner` is `lathe-runner` for a device of OpenCL: it loads, runs, times and checks
// candidates for the tuner that started it. With `--devices` it tells what devices there are, as
// JSON, so that nobody else needs to open a driver.
#include <cstdio>
#include <string_view>

#include "base/json.h"
#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/engine.h"
#include "runtime/runner/server.h"

namespace {

// Prints {"devices": [facts...], "chosen": index}, or says why there is none.
int tell_devices() {
  const auto devices = lathe::opencl::list_devices();
  const auto chosen =
      devices ? lathe::opencl::choose_device(*devices) : std::unexpected(devices.error());
  if (!chosen) {
    std::fprintf(stderr, "%s\n", chosen.error().text().c_str());
    return 1;
  }
  lathe::Json list = lathe::Json::array();
  for (const auto& facts : *devices) list.push_back(to_json(facts));
  std::puts(lathe::dump({{"devices", std::move(list)}, {"chosen", *chosen}}, 2).c_str());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--devices") return tell_devices();
  return lathe::runner::serve_with("lathe-opencl-runner", [] {
    return lathe::opencl::make_engine(
        {.device = {}, .library = {}, .cache = lathe::opencl::BinaryCache::of_this_user()});
  });
}
