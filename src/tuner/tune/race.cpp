#include "tuner/tune/race.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace lathe::tune {
namespace {

// However much the rounds spread: a program this much slower than another does not win over it.
constexpr double kMostSpread = 0.05;
// Fewer loads a multiplication count from this ratio on.
constexpr double kFewer = 0.95;

using measure::kChance;

bool timed(const measure::Racer& racer) { return racer.ran && !racer.failed; }

bool leads_by_times(const measure::Racer& racer, const measure::Racer& other) {
  const auto error = [](const measure::Racer& r) {
    return error_of_median(r.spread * r.seconds, static_cast<std::size_t>(r.rounds));
  };
  return racer.seconds + kChance * std::hypot(error(racer), error(other)) < other.seconds;
}

// Rounds of both tell more than times of different rounds.
bool leads(const measure::Racer& racer, const measure::Racer& defender) {
  if (racer.over_defender <= 0) return leads_by_times(racer, defender);
  return racer.over_defender + kChance * racer.over_defender_error < 1;
}

// The same of another than the defender, with which both were compared.
bool leads_start(const measure::Racer& racer, const measure::Racer& start) {
  if (racer.over_defender <= 0 || start.over_defender <= 0) return leads_by_times(racer, start);
  const double error = std::hypot(racer.over_defender_error, start.over_defender_error);
  return racer.over_defender + kChance * error < start.over_defender;
}

// Who stands first after a disturbed race: what it says of a newcomer does not count against the
// winner of a quiet one, unless that failed in it.
std::size_t keeper_of(const std::vector<RaceEntry>& entries,
                      const std::vector<measure::Racer>& racers, std::size_t winner) {
  const auto raced_quietly = [](const store::Record& r) { return r.raced && !r.race.disturbed; };
  if (raced_quietly(entries[winner].record)) return winner;
  std::size_t keeper = winner;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const store::Record& record = entries[i].record;
    const bool first = keeper == winner || record.standing < entries[keeper].record.standing;
    if (raced_quietly(record) && first && !racers[i].failed) keeper = i;
  }
  return keeper;
}

measure::Speed known_speed(const store::MachineSpeed& speed) {
  return {speed.peak_flops, speed.sentinel_seconds};
}

}  // namespace

std::optional<std::size_t> start_of(const std::vector<store::Record>& records, const Json& start) {
  const auto found = std::ranges::find(records, start, &store::Record::config);
  if (found == records.end()) return std::nullopt;
  return static_cast<std::size_t>(found - records.begin());
}

std::optional<std::size_t> defender_of(const std::vector<store::Record>& records,
                                       const Json& start) {
  if (records.empty()) return std::nullopt;
  const store::Record& first = records.front();
  if (first.raced && !first.race.disturbed) return 0;
  if (const auto found = start_of(records, start)) return found;
  if (first.raced) return 0;
  return std::nullopt;
}

std::optional<std::size_t> winner_of(const std::vector<measure::Racer>& racers,
                                     std::optional<std::size_t> defender,
                                     std::optional<std::size_t> start) {
  if (defender && !timed(racers[*defender])) defender.reset();
  if (start && (!timed(racers[*start]) || start == defender)) start.reset();
  const auto may_win = [&](const measure::Racer& racer) {
    if (!timed(racer) || (defender && !leads(racer, racers[*defender]))) return false;
    return !start || &racer == &racers[*start] || leads_start(racer, racers[*start]);
  };
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < racers.size(); ++i)
    if (may_win(racers[i]) && (!fastest || racers[i].seconds < racers[*fastest].seconds))
      fastest = i;
  if (!fastest) return defender;
  const measure::Racer& first = racers[*fastest];
  std::size_t winner = *fastest;
  for (std::size_t i = 0; i < racers.size(); ++i) {
    const measure::Racer& racer = racers[i];
    if (!may_win(racer) || racer.loads_per_multiply <= 0) continue;
    const double spread = std::min({first.spread, racer.spread, kMostSpread});
    const bool tie = racer.seconds <= first.seconds * (1 + spread);
    if (tie && racer.loads_per_multiply < kFewer * racers[winner].loads_per_multiply) winner = i;
  }
  return winner;
}

Result<RaceStory> race_records(store::Store& store, measure::Measurer& measurer,
                               const RecordRace& request) {
  RaceStory story;
  if (request.entries.empty()) return story;
  const store::Record& any = request.entries.front().record;
  // The records may be of another machine with the same processor.
  const std::string machine = measurer.machine().text();
  const store::MachineSpeed known = LATHE_TRY(store::machine_speed(store, machine, any.target));
  std::vector<measure::Candidate> candidates;
  for (const RaceEntry& entry : request.entries) candidates.push_back(entry.candidate);
  const auto outcome = LATHE_TRY(measurer.race(candidates, {.cache = request.cache,
                                                            .seconds = request.seconds,
                                                            .patience = request.patience,
                                                            .limit = request.limit,
                                                            .known = known_speed(known),
                                                            .defender = request.defender,
                                                            .stop = request.stop}));
  LATHE_CHECK(outcome.racers.size() == request.entries.size());
  const auto of = [&](const auto& what) {
    return static_cast<std::size_t>(std::ranges::count_if(outcome.racers, what));
  };
  if (of(&measure::Racer::failed) == outcome.racers.size())
    return fail(ErrorKind::kRun,
                "none of the {} fastest programs could be timed again, so what was measured of "
                "them stands; the same "
                "command races them once more",
                outcome.racers.size());
  // One alone wins over nobody, unless nobody else was to race.
  const std::size_t ran = of([](const measure::Racer& racer) { return racer.ran; });
  const auto winner = winner_of(outcome.racers, request.defender, request.start);
  if (!winner || ran < std::min<std::size_t>(2, outcome.racers.size())) return story;
  LATHE_TRY_STATUS(store::note_race_speed(
      store, machine, any.target, {outcome.speed.peak_flops, outcome.speed.sentinel_seconds}));
  story.finished = true;
  story.disturbed = outcome.disturbed;
  story.speed = measure::share_of(outcome.speed, known_speed(known));
  story.racers = outcome.racers;
  const std::size_t first =
      outcome.disturbed ? keeper_of(request.entries, outcome.racers, *winner) : *winner;
  std::vector<store::RaceResult> results;
  for (std::size_t i = 0; i < outcome.racers.size(); ++i) {
    const measure::Racer& racer = outcome.racers[i];
    if (!racer.ran) continue;
    results.push_back({.record = request.entries[i].record.id,
                       .seconds = racer.seconds,
                       .spread = racer.failed ? 0 : racer.spread,
                       .won = i == first,
                       .after_1ms = racer.called.after_1ms,
                       .after_20ms = racer.called.after_20ms,
                       .lost = racer.called.lost});
  }
  LATHE_TRY_STATUS(store.set_race(results, {.peak_flops = outcome.speed.peak_flops,
                                            .sentinel_seconds = outcome.speed.sentinel_seconds,
                                            .disturbed = outcome.disturbed}));
  return story;
}

}  // namespace lathe::tune
