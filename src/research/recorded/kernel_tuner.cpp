#include "research/recorded/kernel_tuner.h"

#include <fmt/ranges.h>

namespace lathe::recorded {
namespace {

// Tells a build that failed from a run that did.
const char* failure_name(const std::string& kind) {
  const ErrorKind known = error_kind_from_name(kind);
  return known == ErrorKind::kBuild || known == ErrorKind::kUnsupported ? "CompilationFailedConfig"
                                                                        : "RuntimeFailedConfig";
}

}  // namespace

Json kernel_tuner_cache(const Recording& recording) {
  const auto& knobs = recording.space->knob_list();
  Json keys = Json::array(), params = Json::object(), labels = Json::object(),
       cache = Json::object();
  for (const space::Knob& knob : knobs) {
    keys.push_back(knob.name);
    params[knob.name] = knob.values;
    if (!knob.labels.empty()) labels[knob.name] = knob.labels;
  }
  // It is filled directly, because Json would look up each new key among all before it.
  auto& entries = cache.get_ref<Json::object_t&>();
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < recording.configs().size(); ++i) {
    recording.space->knob_values(recording.configs()[i], values);
    Json entry = Json::object();
    for (std::size_t k = 0; k < knobs.size(); ++k) entry[knobs[k].name] = values[k];
    const Trial& trial = recording.trials()[i];
    if (trial.failure < 0) entry["time"] = recording.seconds(i) * 1e3;
    else
      entry["time"] =
          failure_name(recording.failures[static_cast<std::size_t>(trial.failure)].kind);
    entries.push_back({fmt::format("{}", fmt::join(values, ",")), std::move(entry)});
  }
  return {{"device_name", recording.machine.name()},
          {"kernel_name", recording.name},
          {"problem_size", Json::array({1, 1, 1})},
          {"tune_params_keys", std::move(keys)},
          {"tune_params", std::move(params)},
          {"labels", std::move(labels)},
          {"objective", "time"},
          {"cache", std::move(cache)}};
}

}  // namespace lathe::recorded
