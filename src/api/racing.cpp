#include "api/racing.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "api/schedules.h"
#include "api/targets.h"
#include "api/workload.h"
#include "compiler/schedule/step.h"
#include "tuner/measure/device.h"

namespace lathe::api {
namespace {

constexpr double kRaceSeconds = 3;  // of a race on a quiet machine, at most
constexpr double kLeastRace = 1;    // for a race, however long it took to begin it

// What there is without tuning; null where nothing can be derived any more.
Json default_of(const RaceRequest& request) {
  const auto space = space_of_key(request.workload, request.target, space::Flavour::kDefault);
  return space ? (*space)->to_json((*space)->default_config()) : Json();
}

// Those that may race: successful records of this machine and code generator.
Result<store::Query> entrants(const RaceRequest& request) {
  return store::Query{.workload = te::workload_key(request.workload),
                      .target = request.target.text(),
                      .cache_mode = request.cache_mode,
                      .cpu = measure::machine_for(request.target).cpu(),
                      .ok = true,
                      .codegen_version = LATHE_TRY(codegen_version(request.target))};
}

// One for each configuration, the best first; the default schedule is among them where it is on
// record.
Result<std::vector<store::Record>> racers_of(store::Store& store, const RaceRequest& request,
                                             const Json& start) {
  std::vector<store::Record> records;
  LATHE_TRY_STATUS(store.each(LATHE_TRY(entrants(request)), [&](const store::Record& record) {
    records.push_back(record);
    return true;
  }));
  std::ranges::stable_sort(records, {}, &store::Record::standing);
  std::set<std::string> configs;
  std::erase_if(records, [&](const store::Record& record) {
    return !configs.insert(record.config.dump()).second;
  });
  const auto most = static_cast<std::size_t>(request.count);
  const auto found = std::ranges::find(records, start, &store::Record::config);
  if (most > 1 && found != records.end() && std::cmp_greater_equal(found - records.begin(), most))
    std::rotate(records.begin() + static_cast<std::ptrdiff_t>(most) - 1, found, found + 1);
  if (records.size() > most) records.resize(most);
  if (records.empty())
    return fail_at(request.database, ErrorKind::kNotFound,
                   "no program of this workload is recorded for {} with a {} cache on this machine "
                   "by this Lathe; run lathe tune first",
                   request.target.text(), name_of(request.cache_mode));
  return records;
}

// Reads the records as they are after the race, in their new order.
Status read_again(store::Store& store, Raced& raced) {
  std::vector<std::pair<store::Record, double>> now;
  for (std::size_t i = 0; i < raced.records.size(); ++i) {
    const store::Record& old = raced.records[i];
    LATHE_TRY_STATUS(store.each({.run = old.run}, [&](const store::Record& record) {
      if (record.id == old.id) now.emplace_back(record, raced.seconds[i]);
      return record.id != old.id;
    }));
  }
  std::ranges::stable_sort(now, {}, [](const auto& entry) { return entry.first.standing; });
  raced.records.clear();
  raced.seconds.clear();
  for (auto& [record, seconds] : now) {
    raced.records.push_back(std::move(record));
    raced.seconds.push_back(seconds);
  }
  return {};
}

}  // namespace

Result<Target> racing_target(const RaceRequest& request) {
  LATHE_TRY_STATUS(check_timed_here(request.target));
  const auto store = LATHE_TRY(open_existing(request.database));
  return recorded_target(*store, LATHE_TRY(entrants(request)), request.target);
}

Result<Raced> race_best(const RaceRequest& request,
                        const std::function<void(const std::string& phase)>& listener,
                        const std::function<bool()>& stop) {
  const auto began = std::chrono::steady_clock::now();
  const auto past = [began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  LATHE_TRY_STATUS(check_timed_here(request.target));
  const auto store = LATHE_TRY(open_existing(request.database));
  const te::Workload workload = te::canonical(request.workload);
  Raced raced;
  const Json start = default_of(request);
  raced.records = LATHE_TRY(racers_of(*store, request, start));
  measure::Options measuring;
  measuring.jobs = request.jobs;
  measuring.cache = request.cache_mode;
  const auto measurer = LATHE_TRY(measure::make_measurer(workload, request.target, measuring));
  listener("measuring the machine");
  LATHE_TRY(peak_of(*store, *measurer, request.target));
  raced.flops = te::flops(workload);
  raced.traffic = traffic_of(workload);
  raced.traffic.bandwidth =
      LATHE_TRY(bandwidth_of(*store, *measurer, workload, request.target, request.cache_mode));

  tune::RecordRace race;
  race.cache = measuring.cache;
  race.defender = tune::defender_of(raced.records, start);
  race.start = tune::start_of(raced.records, start);
  race.limit = std::max(kLeastRace, request.seconds - past());
  race.seconds = std::min(kRaceSeconds, race.limit);
  race.patience = race.limit;
  const double end = past() + race.limit;
  race.stop = [&stop, past, end] { return stop() || past() > end; };
  for (const store::Record& record : raced.records)
    race.entries.push_back({record,
                            {static_cast<int>(race.entries.size()),
                             LATHE_TRY(schedule::trace_from_json(record.trace)),
                             {}}});
  listener(fmt::format("racing {} programs", race.entries.size()));
  raced.story = LATHE_TRY(tune::race_records(*store, *measurer, race));
  raced.peak_flops =
      LATHE_TRY(store::machine_speed(*store, measurer->machine().text(), request.target.text()))
          .peak_flops;
  raced.seconds.assign(raced.records.size(), 0);
  for (std::size_t i = 0; i < raced.story.racers.size(); ++i)
    if (raced.story.racers[i].ran) raced.seconds[i] = raced.story.racers[i].seconds;
  LATHE_TRY_STATUS(store->still_there());
  LATHE_TRY_STATUS(read_again(*store, raced));
  return raced;
}

}  // namespace lathe::api
