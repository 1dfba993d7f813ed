// Flags that several subcommands share.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "api/schedules.h"
#include "api/workload.h"

namespace lathe::cli {

struct WorkloadFlags {
  api::WorkloadRequest request;
};
// The workload's own words: the text, an operator's flags, --shape, --dtype, --const, --layout, --max-error.
void add_workload_flags(CLI::App& command, WorkloadFlags& flags, bool required = true);

struct MachineFlags {
  std::string target = "cpu:host";
  int threads = 0;                   // 0: what the target says, else 1
  std::string database;
  std::string cache = "warm";
  std::string space = "default";
};
void add_database_flag(CLI::App& command, std::string& database);
void add_target_flags(CLI::App& command, MachineFlags& flags);
void add_cache_flag(CLI::App& command, MachineFlags& flags);
void add_space_flag(CLI::App& command, MachineFlags& flags);
void add_schedule_flag(CLI::App& command, std::string& schedule);

Result<api::ScheduleRequest> schedule_request(const std::string& which, const MachineFlags& flags);

// Checks that say what would be right.
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
CLI::Validator number_above_zero();
CLI::Validator one_of(std::vector<std::string> names);

}  // namespace lathe::cli
