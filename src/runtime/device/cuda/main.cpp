// `lathe-cuda-runner` is `lathe-runner` for a card of NVIDIA: it loads, runs, times and checks
// candidates for the tuner that started it, or tells what cards there are (devices.h).
#include "runtime/device/main.h"

#include <stdlib.h>

#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/devices.h"
#include "runtime/device/cuda/engine.h"

namespace {

lathe::Result<lathe::Json> list_cards() {
  lathe::cuda::Devices cards{LATHE_TRY(lathe::cuda::list_devices()), 0};
  cards.chosen = LATHE_TRY(lathe::cuda::choose_device(cards.facts));
  return to_json(cards);
}

}  // namespace

int main(int count, char** words) {
  // What is built is kept here, under a key with what it was built for; that the driver keeps it,
  // too, would only make builds look fast.
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  return lathe::device::run_helper(count, words, "lathe-cuda-runner", list_cards, [] {
    return lathe::cuda::make_engine(
        {.device = {}, .library = {}, .cache = lathe::device::BinaryCache::of_this_user("cuda")});
  });
}
