#include "tuner/tune/final_race.h"

#include <algorithm>

namespace lathe::tune {
namespace {

// A candidate measured this much slower than the fastest will not turn out the best.
constexpr double kHopeless = 1.5;
// Of many trials some look fast by chance, and as many more are to race.
constexpr int kTrialsAFinalist = 100;
constexpr int kMostFinalists = 4;  // times those of the options
// However late it is: a race of a few rounds.
constexpr double kShortestRace = 0.2;

// Two at least: what there is without tuning is among them.
int finalists_of(const Options& options, int trials) {
  return std::max(2, std::min(options.race.finalists + trials / kTrialsAFinalist,
                              options.race.finalists * kMostFinalists));
}

// Its race was undisturbed, also by what is known of the machine today.
bool stands(const store::Record& record, const store::MachineSpeed& known) {
  const double share = measure::share_of({record.race.peak_flops, record.race.sentinel_seconds},
                                         {known.peak_flops, known.sentinel_seconds});
  return record.raced && !record.race.disturbed && share >= measure::kSameSpeed;
}

}  // namespace

double race_time(const Options& options, double elapsed) {
  constexpr double kLeast = 1;
  return std::min(options.race.seconds, std::max(kLeast, options.race.share * elapsed));
}

Result<std::optional<RaceStory>> final_race(State& state, const Subject& subject,
                                            measure::Measurer& measurer, const Options& options,
                                            Reporter& reporter, double seconds,
                                            const std::function<bool()>& stop) {
  if (options.race.seconds <= 0 || options.race.finalists < 1) return std::nullopt;
  const std::vector<store::Record> finalists =
      LATHE_TRY(state.finalists(finalists_of(options, state.trials()), kHopeless));
  if (finalists.empty()) return std::nullopt;
  const auto known = LATHE_TRY(
      store::machine_speed(state.store(), state.fingerprint().text(), state.run().target));
  if (std::ranges::all_of(finalists,
                          [&](const store::Record& record) { return stands(record, known); }))
    return std::nullopt;

  RecordRace request;
  request.defender = defender_of(finalists, state.start());
  request.start = start_of(finalists, state.start());
  request.cache = options.run.cache_mode;
  request.seconds = race_time(options, reporter.elapsed());
  request.patience = options.race.share * reporter.elapsed();
  const bool limited = seconds < kInfinity;
  if (limited) {  // not beyond what is left, waiting included
    request.limit = std::max(kShortestRace, seconds);
    request.seconds = std::min(request.seconds, request.limit);
    request.patience = std::min(request.patience, request.limit);
  }
  const double end = limited ? reporter.elapsed() + request.limit : kInfinity;
  request.stop = [&stop, &reporter, &measurer, end] {
    reporter.await_reference(measurer.awaits_reference());
    return (stop && stop()) || reporter.elapsed() > end;
  };
  reporter.race(request.seconds);
  for (const auto& record : finalists) {
    const auto config = LATHE_TRY(subject.from_json(record.config));
    request.entries.push_back(
        {record, {static_cast<int>(request.entries.size()), subject.trace(config), config}});
  }
  auto story = LATHE_TRY(race_records(state.store(), measurer, request));
  if (!story.finished) return std::nullopt;
  return story;
}

}  // namespace lathe::tune
