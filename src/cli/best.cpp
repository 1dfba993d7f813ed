// lathe best: the best program of a workload on record.
#include <memory>

#include "api/told_times.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  MachineFlags machine;
  bool json = false;
};

Result<int> perform(const Flags& flags) {
  const auto workload = LATHE_TRY(api::make_workload(flags.workload));
  const Target target = LATHE_TRY(target_of(flags.machine));
  const auto source = api::recorded_schedules(schedule_request("best", flags.machine));
  const auto chosen = LATHE_TRY(source(workload.definition, target));
  const store::Record& record = *chosen.record;
  const double flops = te::flops(workload.definition);
  const double seconds = believed_seconds(record);
  const api::Traffic traffic = api::traffic_of(workload.definition);
  if (!chosen.note.empty()) complain(chosen.note);
  if (flags.json) {
    Json json = {
        {"workload", record.workload}, {"target", record.target}, {"cache", record.cache_mode}};
    json.update(short_json(record, flops));
    add_traffic(json, traffic, seconds);
    json["numerics"] = api::numerics_of(chosen.trace);
    json["trace"] = record.trace;
    json["tensors"] = tensor_names(workload.definition);
    fmt::print("{}\n", dump(json));
    return kDone;
  }
  fmt::print("{}, {}{}, error {:.2g}\n", time_text(seconds), rate_text(flops, seconds),
             record.raced ? " in a final race" : ", measured but not raced",
             record.numerical_error);
  if (record.race.peak_flops > 0)
    fmt::print("{}\n", peak_text(traffic, flops, seconds, record.race.peak_flops));
  if (traffic.bytes > 0) fmt::print("memory: {}\n", traffic_text(traffic, seconds));
  if (const std::string called = api::called_text(record); !called.empty())
    fmt::print("{}\n", called);
  if (const std::string note = race_note(record); !note.empty()) fmt::print("{}\n", note);
  fmt::print("{}",
             printable(fmt::format("trial {} of run {}, {}, on {}\nschedule: {}\n{}", record.index,
                                   record.run, record.time, record.fingerprint,
                                   schedule_text(record.config), schedule::print(chosen.trace))));
  fmt::print("{}\n", api::numerics_sentence(workload.definition, chosen.trace));
  if (const std::string names = api::names_sentence(workload.definition); !names.empty())
    fmt::print("{}\n", names);
  return kDone;
}

}  // namespace

Command best_command() {
  return {"best", "print the best recorded program of a workload", [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_workload_flags(set, flags->workload);
            add_target_flags(set, flags->machine);
            add_database_flag(set, flags->machine.database);
            add_cache_flag(set, flags->machine);
            set.flag("--json", flags->json, "one JSON object on standard output");
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
