// Trials in the form that the parts of the report use. Internal to this room.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "api/report/report.h"

namespace lathe::report {

// A record without its texts, so that many fit into memory.
struct Trial {
  std::int64_t run = 0;
  int batch = 0, index = 0;
  int codegen_version = 0;
  double seconds = 0;  // infinity: it failed
  double score = 0;    // predicted
  double clock = 0;    // when it was finished, seconds since 1970; NaN: unknown
  Spent spent;
  std::vector<int> settings;  // of the configuration: ids of a SettingTable, in the order of knobs
};

// Trials of one run, machine and code generator, in the order in which they were finished.
using Trials = std::span<const Trial* const>;

}  // namespace lathe::report
