// lathe trials: what was measured of a workload.
#include <algorithm>
#include <memory>

#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/progress_line.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  int limit = 20;
  bool failed = false, json = false;
};

void print_row(const store::Record& r, double flops) {
  const std::string where = fmt::format("{:>4} {:>6}", r.run, r.index);
  if (!r.ok()) {
    fmt::print("{}  {}: {}\n", where, r.error_kind, r.error_place.empty() ? r.error_message : r.error_place + ": " + r.error_message);
    return;
  }
  const double seconds = believed_seconds(r);
  fmt::print("{}  {:>10} {:>16}  {}{}{}\n", where, time_text(seconds), rate_text(flops, seconds), schedule_text(r.config),
             r.raced ? " (raced)" : "", r.spills > 0 ? fmt::format(" ({} spills)", r.spills) : "");
}

Result<int> perform(const Flags& flags) {
  const auto workload = LATHE_TRY(api::make_workload(flags.workload));
  const Target target = LATHE_TRY(api::make_target(flags.machine.target, flags.machine.threads));
  const auto store = LATHE_TRY(api::open_existing(flags.machine.database));
  const double flops = te::flops(workload.program);
  store::Query query = {.workload = te::workload_key(workload.program), .target = target.text(), .cache_mode = flags.machine.cache};
  if (flags.failed) query.ok = false;
  std::vector<store::Record> records;
  LATHE_TRY_STATUS(store->each(query, [&](const store::Record& record) {
    records.push_back(record);
    records.back().visits.clear();
    records.back().trace = nullptr;
    return true;
  }));
  if (records.empty()) LATHE_TRY_STATUS(store->check());  // or are they lost?
  std::ranges::stable_sort(records, {}, [](const store::Record& r) { return r.ok() ? r.standing : 1e300; });
  const std::size_t shown = std::min(records.size(), static_cast<std::size_t>(flags.limit));
  if (flags.json) {
    for (std::size_t i = 0; i < shown; ++i) fmt::print("{}\n", dump(short_json(records[i], flops)));
    return kDone;
  }
  fmt::print(" run  trial        time             rate  schedule\n");
  for (std::size_t i = 0; i < shown; ++i) print_row(records[i], flops);
  if (shown < records.size()) fmt::print("... and {} more; see --limit\n", records.size() - shown);
  if (records.empty()) fmt::print("no trials of this workload on {} with a {} cache\n", target.text(), flags.machine.cache);
  return kDone;
}

}  // namespace

Command trials_command() {
  return {"trials", "list what was measured of a workload, best first", [](FlagSet& set) -> Work {
    auto flags = std::make_shared<Flags>();
    add_workload_flags(set, flags->workload);
    add_target_flags(set, flags->machine);
    add_database_flag(set, flags->machine.database);
    add_cache_flag(set, flags->machine);
    set.whole("--limit", flags->limit, 1, 100'000'000, "how many");
    set.flag("--failed", flags->failed, "those that failed, with their reasons");
    set.flag("--json", flags->json, "a JSON object a line");
    return [flags] { return perform(*flags); };
  }};
}

}  // namespace lathe::cli
