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
};

Result<int> perform(const Flags& flags) {
  store::Query query;
  if (!flags.workload.text.empty())
    query.workload = te::workload_key(LATHE_TRY(api::make_workload(flags.workload)).definition);
  const auto store = LATHE_TRY(api::open_existing(flags.database));
  LATHE_TRY_STATUS(store::export_lines(*store, query, std::cout));
  return kDone;
}

}  // namespace

Command export_command() {
  return {"export", "write records as JSON lines, all or those of a workload",
          [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_workload_flags(set, flags->workload);
            add_database_flag(set, flags->database);
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
