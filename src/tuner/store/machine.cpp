// What the store knows of the machines that its times are of.
#include <algorithm>
#include <charconv>

#include "tuner/store/store.h"

namespace lathe::store {
namespace {

std::string machine_key(const char* what, const std::string& fingerprint,
                        const std::string& target) {
  return std::string(what) + "/" + fingerprint + "/" + target;
}

Result<double> known_number(Store& store, const std::string& key) {
  double number = 0;
  if (const auto text = LATHE_TRY(store.get(key)))
    std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

}  // namespace

Result<MachineSpeed> machine_speed(Store& store, const std::string& fingerprint,
                                   const std::string& target) {
  return MachineSpeed{LATHE_TRY(known_number(store, machine_key("peak", fingerprint, target))),
                      LATHE_TRY(known_number(store, machine_key("sentinel", fingerprint, target)))};
}

Status note_speed(Store& store, const std::string& fingerprint, const std::string& target,
                  const MachineSpeed& seen) {
  const MachineSpeed known = LATHE_TRY(machine_speed(store, fingerprint, target));
  if (seen.peak_flops > known.peak_flops)
    LATHE_TRY_STATUS(
        store.put(machine_key("peak", fingerprint, target), fmt::format("{}", seen.peak_flops)));
  if (seen.sentinel_seconds > 0 &&
      (known.sentinel_seconds == 0 || seen.sentinel_seconds < known.sentinel_seconds))
    LATHE_TRY_STATUS(store.put(machine_key("sentinel", fingerprint, target),
                               fmt::format("{}", seen.sentinel_seconds)));
  return {};
}

Status note_race_speed(Store& store, const std::string& fingerprint, const std::string& target,
                       const MachineSpeed& seen) {
  constexpr double kKept = 0.98;
  const MachineSpeed known = LATHE_TRY(machine_speed(store, fingerprint, target));
  if (seen.peak_flops > 0)
    LATHE_TRY_STATUS(
        store.put(machine_key("peak", fingerprint, target),
                  fmt::format("{}", std::max(seen.peak_flops, kKept * known.peak_flops))));
  if (seen.sentinel_seconds <= 0) return {};
  const double faded =
      known.sentinel_seconds > 0 ? known.sentinel_seconds / kKept : seen.sentinel_seconds;
  return store.put(machine_key("sentinel", fingerprint, target),
                   fmt::format("{}", std::min(seen.sentinel_seconds, faded)));
}

Result<double> note_bandwidth(Store& store, const std::string& fingerprint,
                              const std::string& target, const std::string& what, double seen) {
  const std::string key = machine_key("bandwidth", fingerprint, target) + "/" + what;
  const double known = LATHE_TRY(known_number(store, key));
  if (seen <= known) return known;
  LATHE_TRY_STATUS(store.put(key, fmt::format("{}", seen)));
  return seen;
}

}  // namespace lathe::store
