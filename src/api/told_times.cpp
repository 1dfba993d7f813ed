#include "api/told_times.h"

#include <cmath>

#include <fmt/format.h>

#include "base/target.h"
#include "base/time_text.h"

namespace lathe::api {

std::string called_text(const store::Record& record) {
  const store::RaceNote& race = record.race;
  if (!record.raced || race.after_1ms <= 0 || race.after_20ms <= 0) return "";
  std::string out = fmt::format("called after a pause: {} after 1 ms, {} after 20 ms",
                                time_text(race.after_1ms), time_text(race.after_20ms));
  constexpr double kShown = 0.005;
  if (race.lost >= kShown)
    out += fmt::format(
        "; the scheduler took {:.0f} % of its calls' time in the race, which does "
        "not count",
        100 * race.lost);
  return out;
}

namespace {

std::string_view caches_text(CacheMode cache) {
  switch (cache) {
    case CacheMode::kWarm: return "right after another";
    case CacheMode::kCold: return "with cold caches";
    case CacheMode::kFar: break;
  }
  return "right after another, but for what is constant, which comes from memory";
}

}  // namespace

std::string timed_sentence(const store::Record& record) {
  const bool raced = record.raced && std::isfinite(record.race_seconds);
  // Of a device, times are those of its kernels.
  const auto target = parse_target(record.target);
  const bool on_device = target && !target->has_threads();
  std::string out = fmt::format(
      "On {} {} {} {} {}", on_device ? "the device" : "a processor of model", record.cpu,
      on_device ? "the kernels of a call, without copies, take" : "a call takes",
      time_text(raced ? record.race_seconds : record.seconds), caches_text(record.cache_mode));
  if (const std::string called = called_text(record); !called.empty()) out += "; " + called;
  if (raced && record.race.disturbed)
    out += "; the machine was disturbed meanwhile, so the program may be faster";
  return out + ".";
}

}  // namespace lathe::api
