// Flags that several subcommands share.
#pragma once

#include <string>

#include "api/schedules.h"
#include "api/targets.h"
#include "api/workload.h"
#include "cli/flag_set.h"

namespace lathe::cli {

// The words that name a workload: the text, an operator's flags, --shape, --dtype, --const,
// --layout, --max-error, --algorithm.
void add_workload_flags(FlagSet& flags, api::WorkloadRequest& request);

struct MachineFlags {
  std::string target = "cpu:host";
  int threads = 0;  // 0: as api::make_target() chooses
  std::string database;
  CacheMode cache = CacheMode::kWarm;
  space::Flavour space = space::Flavour::kDefault;
};
Result<Target> target_of(const MachineFlags& machine);
// What the first line of a run says: how many threads its programs use, and why.
std::string threads_line(const MachineFlags& machine, const Target& target);
// That there is nothing on record for the threads that were asked for, where there is for fewer.
std::string fewer_threads_line(const Target& asked, const Target& taken);

void add_database_flag(FlagSet& flags, std::string& database);
void add_target_flags(FlagSet& flags, MachineFlags& machine);
void add_cache_flag(FlagSet& flags, MachineFlags& machine);
void add_space_flag(FlagSet& flags, MachineFlags& machine);
void add_schedule_flag(FlagSet& flags, std::string& schedule);

api::ScheduleRequest schedule_request(const std::string& which, const MachineFlags& machine);

}  // namespace lathe::cli
