// Recording of include/lathe/search.h.
#include "api/recording.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "api/outward.h"
#include "tuner/feature/feature.h"

namespace lathe {
namespace {

Result<std::shared_ptr<const Recording::Impl>> load_recording(const std::string& path) {
  auto impl = std::make_shared<Recording::Impl>();
  impl->inner = LATHE_TRY(recorded::load(path));
  impl->knobs = knobs_of(*impl->inner.space);
  for (std::size_t i = 0; i < impl->inner.configs().size(); ++i)
    impl->seconds.push_back(impl->inner.seconds(i));
  return impl;
}

Result<Features> features_of(const recorded::Recording& recording, const std::string& kind,
                             int jobs) {
  const auto known = LATHE_TRY(feature::features_for(kind, recording.target));
  const feature::Extractor extractor(known, *recording.space);
  Features out{feature::names(known, *recording.space), {}};
  out.rows.resize(recording.configs().size() * static_cast<std::size_t>(extractor.width()));
  extractor.rows(recording.configs(), out.rows, jobs_of(jobs));
  return out;
}

Result<std::optional<std::size_t>> place_of(const recorded::Recording& recording,
                                            const std::string& config) {
  return recording.find(LATHE_TRY(config_from(*recording.space, config)));
}

}  // namespace

std::vector<Knob> knobs_of(const space::Space& space) {
  std::vector<Knob> out;
  for (const space::Knob& knob : space.knob_list())
    out.push_back({knob.name,
                   knob.values,
                   knob.labels,
                   knob.under,
                   {knob.under_values.begin(), knob.under_values.end()}});
  return out;
}

Result<space::Config> config_from(const space::Space& space, const std::string& json) {
  const Json values = LATHE_TRY(parse_json(json));
  if (!values.is_object())
    return fail(ErrorKind::kInvalidArgument,
                "a configuration is an object with a value for each knob, not {}", json);
  for (const auto& [name, value] : values.items()) {
    const auto is_it = [&](const space::Knob& knob) { return knob.name == name; };
    if (std::ranges::any_of(space.knob_list(), is_it)) continue;
    std::vector<std::string> known;
    for (const space::Knob& knob : space.knob_list()) known.push_back(knob.name);
    return fail(ErrorKind::kInvalidArgument, "the space has no knob {}; it has {}", name,
                fmt::join(known, ", "));
  }
  auto config = LATHE_TRY(space.from_json(values));
  return space.valid(config) ? space.canonical(config) : config;
}

Expected<Recording> Recording::load(const std::string& path) {
  return guarded([&]() -> Expected<Recording> {
    auto impl = load_recording(path);
    if (!impl) return failure(impl.error());
    return Recording(std::move(*impl));
  });
}

const std::string& Recording::name() const { return impl_->inner.name; }
Workload Recording::workload() const { return workload_from(impl_->inner.space->workload()); }
std::string Recording::target() const { return impl_->inner.target.text(); }
int Recording::threads() const { return impl_->inner.target.threads(); }
std::string Recording::machine() const { return impl_->inner.machine.name(); }
bool Recording::cold_cache() const { return impl_->inner.cache_mode == CacheMode::kCold; }
double Recording::peak_flops() const { return impl_->inner.peak_flops; }
const std::vector<Knob>& Recording::knobs() const { return impl_->knobs; }
std::size_t Recording::size() const { return impl_->seconds.size(); }
const std::vector<double>& Recording::seconds() const { return impl_->seconds; }
double Recording::best_seconds() const { return impl_->inner.best_seconds(); }

std::vector<std::uint16_t> Recording::positions() const {
  std::vector<std::uint16_t> out;
  for (const auto& config : impl_->inner.configs())
    out.insert(out.end(), config.begin(), config.end());
  return out;
}

Expected<std::string> Recording::config(std::size_t place) const {
  if (place >= size())
    return failure(Error{
        ErrorKind::kInvalidArgument,
        fmt::format("the recording has {} configurations, and none at place {}", size(), place),
        {}});
  return guarded([&]() -> Expected<std::string> {
    return impl_->inner.space->to_json(impl_->inner.configs()[place]).dump();
  });
}

std::vector<std::string> Recording::failures() const {
  std::vector<std::string> out;
  for (const auto& trial : impl_->inner.trials())
    out.push_back(trial.failure < 0
                      ? ""
                      : impl_->inner.failures[static_cast<std::size_t>(trial.failure)].kind);
  return out;
}

Expected<std::optional<std::size_t>> Recording::find(const std::string& config) const {
  return guarded([&] { return outward(place_of(impl_->inner, config)); });
}

Expected<Features> Recording::features(const std::string& kind, int jobs) const {
  return guarded([&] { return outward(features_of(impl_->inner, kind, jobs)); });
}

}  // namespace lathe
