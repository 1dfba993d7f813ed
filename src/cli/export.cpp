// lathe export: writes records as JSON lines to standard output.
#include <iostream>
#include <memory>

#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::WorkloadRequest workload;
  std::string database;
  bool best = false;
};

Result<int> perform(const Flags& flags) {
  store::Query query;
  if (!api::names_no_workload(flags.workload))
    query.workload = te::workload_key(LATHE_TRY(api::make_workload(flags.workload)).definition);
  const auto store = LATHE_TRY(api::open_existing(flags.database));
  const auto write = flags.best ? store::export_best : store::export_lines;
  LATHE_TRY_STATUS(write(*store, query, std::cout));
  return kDone;
}

}  // namespace

Command export_command() {
  return {"export", "write records as JSON lines: all, those of a workload, or the best",
          [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_workload_flags(set, flags->workload);
            add_database_flag(set, flags->database);
            set.flag("--best", flags->best,
                     "only the best of each workload, target, cache mode and cpu");
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
