// lathe trials: lists what was measured of a workload, or the workloads of which something was
// measured.
#include <algorithm>
#include <cmath>
#include <memory>

#include "api/report/report.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/progress_line.h"
#include "cli/report/parts.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  int limit = 20;
  bool failed = false, json = false;
};

const char* race_text(const store::Record& r) {
  if (!r.raced) return "";
  if (!std::isfinite(r.race_seconds)) return " (failed when it was raced)";
  return r.race.disturbed ? " (raced, disturbed)" : " (raced)";
}

void print_row(const store::Record& r, double flops) {
  const std::string where = fmt::format("{:>4} {:>6}", r.run, r.index);
  if (!r.ok()) {
    const std::string place = r.error_place.empty() ? "" : r.error_place + ": ";
    fmt::print("{}  {}: {}\n", where, r.error_kind, printable(place + r.error_message));
    return;
  }
  const double believed = believed_seconds(r);
  const double seconds = std::isfinite(believed) ? believed : r.seconds;
  fmt::print("{}  {:>10} {:>16}  {}{}{}\n", where, time_text(seconds), rate_text(flops, seconds),
             schedule_text(r.config), race_text(r),
             r.spills > 0 ? fmt::format(" ({} spills)", r.spills) : "");
}

Json overview_json(const report::WorkloadReport& w) {
  Json json = {{"workload", w.key},     {"title", w.title},       {"target", w.target},
               {"cache", w.cache_mode}, {"cpu", w.cpu},           {"trials", w.trials},
               {"failed", w.failed},    {"best_seconds", nullptr}};
  if (w.best) json["best_seconds"] = w.best->seconds();
  return json;
}

Result<int> list_workloads(const Flags& flags) {
  if (flags.failed)
    return fail_at("--failed", ErrorKind::kInvalidArgument,
                   "name the workload whose failed trials are to be listed");
  const auto store = LATHE_TRY(api::open_existing(flags.machine.database));
  auto report = report::gather(*store);
  if (!report && report.error().place.empty()) report.error().place = flags.machine.database;
  if (!report) return std::unexpected(report.error());
  if (!flags.json) fmt::print("trials failed  best time             rate  workload\n");
  for (const report::WorkloadReport& w : report->workloads) {
    if (flags.json) {
      fmt::print("{}\n", dump(overview_json(w)));
      continue;
    }
    const double seconds = w.best ? w.best->seconds() : 0;
    fmt::print("{:>6} {:>6} {:>10} {:>16}  {} ({}), {}, {} caches, {}\n", w.trials, w.failed,
               w.best ? time_text(seconds) : "-", w.best ? speed_text(w.work, seconds) : "-",
               printable(w.title), printable(w.shapes), printable(w.target), name_of(w.cache_mode),
               printable(machine_text(w.target, w.cpu)));
  }
  if (!flags.json)
    fmt::print(
        "lathe trials WORKLOAD lists those of one; the keys that --json gives are workloads, "
        "too\n");
  return kDone;
}

// Tells why there is nothing to list.
Result<std::string> nothing_to_list(store::Store& store, const te::Workload& workload,
                                    const Target& target, const Flags& flags) {
  const std::string where =
      fmt::format("on {} with a {} cache", target.text(), name_of(flags.machine.cache));
  const store::Query all = {.workload = te::workload_key(workload),
                            .target = target.text(),
                            .cache_mode = flags.machine.cache};
  if (const auto count = LATHE_TRY(store.count(all)); count > 0)
    return fmt::format("none of {} of this workload {} failed", counted(count, "trial"), where);
  const std::string others =
      LATHE_TRY(api::other_flags(store, workload, target, flags.machine.cache));
  return fmt::format("no trials of this workload {}{}", where,
                     others.empty() ? "" : ", but there are some with " + others);
}

Result<int> perform(const Flags& flags) {
  if (api::names_no_workload(flags.workload)) return list_workloads(flags);
  const auto workload = LATHE_TRY(api::make_workload(flags.workload));
  const Target asked = LATHE_TRY(target_of(flags.machine));
  const auto store = LATHE_TRY(api::open_existing(flags.machine.database));
  const double flops = te::flops(workload.definition);
  store::Query query = {.workload = te::workload_key(workload.definition),
                        .cache_mode = flags.machine.cache};
  const Target target = LATHE_TRY(api::recorded_target(*store, query, asked));
  if (target != asked) complain(fewer_threads_line(asked, target));
  query.target = target.text();
  if (flags.failed) query.ok = false;
  std::vector<store::Record> records;
  LATHE_TRY_STATUS(store->each(query, [&](const store::Record& record) {
    records.push_back(record);
    records.back().visits.clear();
    records.back().trace = nullptr;
    return true;
  }));
  if (records.empty()) LATHE_TRY_STATUS(store->check());  // they may be lost
  std::ranges::stable_sort(records, {},
                           [](const store::Record& r) { return r.ok() ? r.standing : 1e300; });
  const std::size_t shown = std::min(records.size(), static_cast<std::size_t>(flags.limit));
  if (flags.json) {
    for (std::size_t i = 0; i < shown; ++i) fmt::print("{}\n", dump(short_json(records[i], flops)));
    return kDone;
  }
  if (!records.empty()) fmt::print(" run  trial        time             rate  schedule\n");
  for (std::size_t i = 0; i < shown; ++i) print_row(records[i], flops);
  if (shown < records.size()) fmt::print("... and {} more; see --limit\n", records.size() - shown);
  if (records.empty())
    fmt::print("{}\n", LATHE_TRY(nothing_to_list(*store, workload.definition, target, flags)));
  return kDone;
}

}  // namespace

Command trials_command() {
  return {"trials",
          "list what was measured of a workload, best first; without one, what the database holds",
          [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_workload_flags(set, flags->workload);
            add_target_flags(set, flags->machine);
            add_database_flag(set, flags->machine.database);
            add_cache_flag(set, flags->machine);
            set.whole("--limit", flags->limit, 1, 100'000'000, "how many rows to list");
            set.flag("--failed", flags->failed, "list trials that failed, with their reasons");
            set.flag("--json", flags->json, "write each row as a JSON object on a line of its own");
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
