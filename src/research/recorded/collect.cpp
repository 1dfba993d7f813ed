#include "research/recorded/collect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "base/statistics.h"
#include "compiler/schedule/step.h"
#include "tuner/learn/spread.h"

namespace lathe::recorded {
namespace {

constexpr int kRaces = 5;           // that each candidate takes part in
constexpr std::size_t kGroup = 20;  // candidates a race: all of them stay in memory

int failure_number(std::vector<Failure>& failures, const std::string& kind,
                   const std::string& message) {
  const auto known = std::ranges::find_if(failures, [&](const Failure& failure) {
    return failure.kind == kind && failure.message == message;
  });
  if (known != failures.end()) return static_cast<int>(known - failures.begin());
  failures.push_back({kind, message});
  return static_cast<int>(failures.size()) - 1;
}

Trial trial_of(const store::Record& record, std::vector<Failure>& failures) {
  Trial trial;
  if (!record.ok()) {
    trial.failure = failure_number(failures, record.error_kind, record.error_message);
    return trial;
  }
  if (record.raced && !std::isfinite(record.race_seconds)) {
    trial.failure = failure_number(failures, std::string(name_of(ErrorKind::kRun)),
                                   "failed when the fastest were raced");
    return trial;
  }
  trial.seconds = record.seconds;
  trial.raced_seconds = record.raced ? record.race_seconds : 0;
  trial.spread = learn::spread_of(record);
  trial.dropped_early = record.dropped_early;
  return trial;
}

// Races every candidate once, in random groups.
Status race_once(const std::vector<measure::Candidate>& candidates, measure::Measurer& measurer,
                 CacheMode cache, Rng& rng, std::vector<std::vector<double>>& times,
                 const std::function<bool()>& stop) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, rng);
  for (std::size_t begin = 0; begin < order.size() && !stop(); begin += kGroup) {
    const std::size_t end = std::min(begin + kGroup, order.size());
    std::vector<measure::Candidate> group;
    for (std::size_t i = begin; i < end; ++i) group.push_back(candidates[order[i]]);
    const auto raced =
        LATHE_TRY(measurer.race(group, {.cache = cache, .seconds = 0, .known = {}, .stop = stop}));
    for (std::size_t i = begin; i < end; ++i)
      if (raced.racers[i - begin].ran) times[order[i]].push_back(raced.racers[i - begin].seconds);
  }
  return {};
}

}  // namespace

Result<std::vector<store::Record>> records_of(store::Store& store, std::int64_t run,
                                              const Recording& recording) {
  const auto configs = space::all_configs(*recording.space);
  std::map<space::Config, std::size_t> places;
  for (std::size_t i = 0; i < configs.size(); ++i) places.emplace(configs[i], i);
  std::vector<store::Record> records(configs.size());
  std::size_t found = 0;
  LATHE_TRY_STATUS(store.each({.run = run}, [&](const store::Record& record) {
    const bool comparable = record.cpu == recording.machine.cpu() &&
                            record.codegen_version == recording.codegen_version;
    const auto config = recording.space->from_json(record.config);
    const auto place = config ? places.find(*config) : places.end();
    if (!comparable || place == places.end()) return true;
    found += records[place->second].id == 0;
    records[place->second] = record;
    return true;
  }));
  if (found < configs.size())
    return fail(ErrorKind::kNotFound,
                "{} of {} configurations are not measured yet; the same command goes on",
                configs.size() - found, configs.size());
  return records;
}

std::vector<store::Record> fastest(std::vector<store::Record> records, int count) {
  std::erase_if(records, [](const store::Record& record) { return !record.ok(); });
  std::ranges::stable_sort(records, {}, &store::Record::seconds);
  if (records.size() > static_cast<std::size_t>(count))
    records.resize(static_cast<std::size_t>(count));
  return records;
}

Result<std::vector<store::RaceResult>> race_all(const std::vector<store::Record>& records,
                                                measure::Measurer& measurer, CacheMode cache,
                                                const std::function<void(double)>& progress,
                                                const std::function<bool()>& stop) {
  std::vector<measure::Candidate> candidates;
  for (const store::Record& record : records)
    candidates.push_back(
        {static_cast<int>(candidates.size()), LATHE_TRY(schedule::trace_from_json(record.trace))});
  std::vector<std::vector<double>> times(records.size());
  Rng rng(0);
  for (int race = 0; race < kRaces && !stop(); ++race) {
    progress(static_cast<double>(race) / kRaces);
    LATHE_TRY_STATUS(race_once(candidates, measurer, cache, rng, times, stop));
  }
  std::vector<store::RaceResult> results;
  if (stop()) return results;
  for (std::size_t i = 0; i < records.size(); ++i)
    results.push_back({records[i].id, quantile(times[i], 0.5)});
  return results;
}

Status collect(const std::vector<store::Record>& records, Recording& recording) {
  recording.failures.clear();
  std::vector<Trial> trials;
  for (const store::Record& record : records)
    trials.push_back(trial_of(record, recording.failures));
  return recording.set_trials(std::move(trials));
}

}  // namespace lathe::recorded
