#include "research/recorded/replay.h"

#include <fmt/ranges.h>

namespace lathe::recorded {
namespace {

// Makes up times from which learn::spread_of() finds the recorded spread again.
std::vector<measure::Visit> visits_of(double seconds, double spread) {
  return {{.seconds = {seconds * (1 - spread), seconds, seconds * (1 + spread)}}};
}

class Replay final : public measure::Measurer {
 public:
  explicit Replay(const Recording& recording) : recording_(recording) {}

  Fingerprint machine() const override { return recording_.machine; }
  Status measure(std::vector<measure::Candidate> batch, double,
                 const std::function<void(measure::Outcome)>& done,
                 const std::function<bool()>& stop) override {
    for (const auto& candidate : batch) {
      if (stop()) return {};
      done(outcome(candidate.tag, LATHE_TRY(place_of(candidate))));
    }
    return {};
  }

  Result<measure::RaceOutcome> race(const std::vector<measure::Candidate>& candidates,
                                    const measure::RaceOptions&) override {
    measure::RaceOutcome out;
    for (const auto& candidate : candidates)
      out.racers.push_back(
          {.ran = true, .seconds = recording_.seconds(LATHE_TRY(place_of(candidate)))});
    return out;
  }

  Result<double> peak_flops() override { return recording_.peak_flops; }

 private:
  Result<std::size_t> place_of(const measure::Candidate& candidate) const {
    const auto place = recording_.find(candidate.config);
    if (!place)
      return fail(ErrorKind::kNotFound,
                  "the recording of {} has no configuration {}; measure it, or search within the "
                  "recorded space",
                  recording_.name, fmt::join(candidate.config, ","));
    return *place;
  }

  measure::Outcome outcome(int tag, std::size_t place) const {
    const Trial& trial = recording_.trials()[place];
    measure::Outcome outcome;
    outcome.tag = tag;
    outcome.machine = recording_.machine;
    outcome.dropped_early = trial.dropped_early;
    if (trial.failure >= 0) {
      const Failure& failure = recording_.failures[static_cast<std::size_t>(trial.failure)];
      outcome.error = Error{error_kind_from_name(failure.kind), failure.message, {}};
      return outcome;
    }
    outcome.seconds = recording_.seconds(place);
    outcome.visits = visits_of(outcome.seconds, trial.spread);
    return outcome;
  }

  const Recording& recording_;
};

}  // namespace

std::unique_ptr<measure::Measurer> make_replay(const Recording& recording) {
  return std::make_unique<Replay>(recording);
}

tune::Options replay_options(const Recording& recording, tune::Options options) {
  options.run.codegen_version = recording.codegen_version;
  options.run.cache_mode = recording.cache_mode;
  options.run.flavour = recording.flavour;
  return options;
}

}  // namespace lathe::recorded
