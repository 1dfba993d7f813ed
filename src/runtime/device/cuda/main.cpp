// `lathe-cuda-runner` is `lathe-runner` for a card of NVIDIA: it loads, runs, times and checks
// candidates for the tuner that started it. `lathe-cuda-runner --devices [FILE]` writes what cards
// there are, as JSON (devices.h), to the file or its output.
#include <stdlib.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/file.h"
#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/devices.h"
#include "runtime/device/cuda/engine.h"
#include "runtime/runner/server.h"

namespace {

lathe::Status tell_cards(const std::string& file) {
  lathe::cuda::Devices devices{LATHE_TRY(lathe::cuda::list_devices()), 0};
  devices.chosen = LATHE_TRY(lathe::cuda::choose_device(devices.facts));
  const std::string text = lathe::dump(to_json(devices), 2) + "\n";
  if (!file.empty()) return lathe::write_whole(file, text);
  std::fputs(text.c_str(), stdout);
  return {};
}

}  // namespace

int main(int count, char** words) {
  // What is built is kept here, under a key with what it was built for; that the driver keeps it,
  // too, would only make builds look fast.
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  if (count >= 2 && count <= 3 && std::string_view(words[1]) == "--devices") {
    const lathe::Status told = tell_cards(count == 3 ? words[2] : "");
    if (!told) std::fprintf(stderr, "%s\n", told.error().text().c_str());
    return told ? 0 : 1;
  }
  return lathe::runner::serve_with("lathe-cuda-runner", [] {
    return lathe::cuda::make_engine(
        {.device = {}, .library = {}, .cache = lathe::device::BinaryCache::of_this_user("cuda")});
  });
}
