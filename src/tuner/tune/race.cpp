#include "tuner/tune/race.h"

#include <algorithm>
#include <cmath>

namespace lathe::tune {
namespace {

// A candidate measured this much slower than the fastest will not turn out the best.
constexpr double kHopeless = 1.3;
// However late it is: a race of a few rounds.
constexpr double kShortestRace = 0.2;

// What is left of the time, where there is a limit.
double race_time(const Options& options, double elapsed) {
  if (options.seconds <= 0) return options.race_seconds;
  return std::min(options.race_seconds, std::max(kShortestRace, options.seconds - elapsed));
}

}  // namespace

Status final_race(State& state, const Subject& subject, measure::Measurer& measurer, const Options& options,
                  Reporter& reporter) {
  if (options.race_seconds <= 0 || options.finalists < 1 || state.best() == nullptr) return {};
  std::vector<store::Record> finalists = state.finalists(options.finalists);
  const double fastest = std::ranges::min(finalists, {}, &store::Record::seconds).seconds;
  const std::int64_t defender = state.best()->id;
  std::erase_if(finalists, [&](const store::Record& r) { return r.id != defender && r.seconds > fastest * kHopeless; });
  if (std::ranges::all_of(finalists, &store::Record::raced)) return {};

  const double seconds = race_time(options, reporter.elapsed());
  reporter.race(seconds);
  std::vector<measure::Candidate> candidates;
  for (const auto& record : finalists) {
    const auto config = LATHE_TRY(subject.from_json(record.config));
    candidates.push_back({static_cast<int>(candidates.size()), subject.trace(config), config});
  }
  const auto cache = options.cache_mode == "cold" ? measure::CacheMode::kCold : measure::CacheMode::kWarm;
  const auto times = LATHE_TRY(measurer.race(candidates, cache, seconds));
  LATHE_CHECK(times.size() == finalists.size());
  if (std::ranges::none_of(times, [](double t) { return std::isfinite(t); }))
    return fail(ErrorKind::kRun, "none of the {} fastest programs could be timed again, so what was measured of them stands; the same "
                "command races them once more", times.size());
  std::vector<store::RaceResult> results;
  for (std::size_t i = 0; i < times.size(); ++i) results.push_back({finalists[i].id, times[i]});
  return state.set_race(results);
}

}  // namespace lathe::tune
